package rfp

import "github.com/remora-kv/remora/fabric"

// HasAreas reports whether the connection knows its bulk areas, if it is to have them.
func (c *Conn) HasAreas() bool {
	return c.rings.bulk == 0 || c.out.size != 0 && c.areas.known[ofResults]
}

// LookOnly has the connection look at the server's memory so many times, and no more.
func (c *Conn) LookOnly(times int) {
	under, ok := c.end.QP.(fabric.Viewer)
	if !ok {
		panic("a queue pair that is no fabric.Viewer")
	}
	c.bulk.viewer = &tired{under, times}
}

// tired is a Viewer that says no after some times.
type tired struct {
	fabric.Viewer
	left int
}

func (v *tired) View(from fabric.Remote, n int) ([]byte, bool) {
	if v.left == 0 {
		return nil, false
	}
	v.left--
	return v.Viewer.View(from, n)
}
