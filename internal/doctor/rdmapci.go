package doctor

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Parts of the configuration space of a PCI device (PCI Express Base Specification, 7.5).
const (
	pciStatus     = 0x06 // bit 4: there is a list of capabilities
	pciFirstCap   = 0x34
	pciCapExpress = 0x10
	pciDevCtl     = 0x08 // in the capability of PCI Express
	pciRelaxed    = 1 << 4
	// pciShown is what the kernel shows of the space to those who are not root.
	pciShown = 64
)

// probePCI looks at the slot of an RDMA device.
func (p *patient) probePCI(dev string) {
	dir := path.Join(ibDir, dev, "device")
	config, err := fs.ReadFile(p.FS, dir+"/config")
	if err != nil {
		return // a stand-in has no slot
	}
	name := "rdma pci " + dev
	// The bits of a virtual function are those of its physical one.
	if physical, err := fs.ReadFile(p.FS, dir+"/physfn/config"); err == nil {
		config = physical
	}
	v := map[string]any{"device": dev}
	link, slow := p.pciLink(dir)
	control, ok := devCtl(config)
	switch {
	case !ok && len(config) <= pciShown:
		p.advise(name, "the order of writes is shown only to root"+link, "sudo remora doctor says whether relaxed ordering is on", v)
		return
	case !ok:
		p.ok(name, "no PCI Express"+link, v)
		return
	}
	v["relaxed_ordering"] = control&pciRelaxed != 0
	v["max_read_request"] = 128 << (control >> 12 & 7)
	order, next := "writes are ordered", ""
	if control&pciRelaxed != 0 {
		order = "relaxed ordering is allowed"
		next = "Remora registers memory without it; the firmware must not apply it all the same: on NVIDIA adapters " +
			"mlxconfig -d PCI q PCI_WR_ORDERING must say per_mkey(0)"
	}
	found := fmt.Sprintf("%s, READs in requests of %d bytes%s", order, 128<<(control>>12&7), link)
	if slow != "" {
		p.warn(name, found, strings.Join([]string{slow, next}, "; "), v)
		return
	}
	p.advise(name, found, next, v)
}

// pciLink describes the link of a slot, and says what to do if it could be faster.
func (p *patient) pciLink(dir string) (found, next string) {
	speed, width := p.line(dir+"/current_link_speed"), p.line(dir+"/current_link_width")
	if speed == "" || width == "" {
		return "", ""
	}
	found = fmt.Sprintf(", %s x%s", speed, width)
	most := fmt.Sprintf("%s x%s", p.line(dir+"/max_link_speed"), p.line(dir+"/max_link_width"))
	if most != found[2:] && most != " x" {
		next = "the adapter could do " + most + ": put it into a faster slot, or look at the BIOS"
	}
	return found, next
}

// devCtl returns the device control register of PCI Express.
func devCtl(config []byte) (uint16, bool) {
	if len(config) < pciShown || config[pciStatus]&(1<<4) == 0 {
		return 0, false
	}
	at := int(config[pciFirstCap] &^ 3)
	for range 48 { // as many as there is room for
		if at < pciShown || at+pciDevCtl+2 > len(config) {
			break
		}
		if config[at] == pciCapExpress {
			return binary.LittleEndian.Uint16(config[at+pciDevCtl:]), true
		}
		at = int(config[at+1] &^ 3)
	}
	return 0, false
}
