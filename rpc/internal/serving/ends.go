package serving

import (
	"errors"

	"github.com/remora-kv/remora/fabric"
)

// Free closes the regions of an end of a connection that there are, and then its domain. The
// queue pairs are closed.
func Free(domain fabric.Domain, regions ...*fabric.Region) error {
	var err error
	for _, r := range regions {
		if r != nil {
			err = errors.Join(err, r.Close())
		}
	}
	if domain != nil {
		err = errors.Join(err, domain.Close())
	}
	return err
}
