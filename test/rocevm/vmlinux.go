package rocevm

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// Places in the header of a bzImage, from the kernel's Documentation/x86/boot.rst.
const (
	bootSetupSectors  = 0x1f1
	bootMagic         = 0x202
	bootPayloadOffset = 0x248
	bootPayloadLength = 0x24c
	bootHeaderEnd     = 0x250
	bootSector        = 512
)

var xzMagic = []byte("\xfd7zXZ\x00")

// errNotXZ means that this bzImage must unpack itself in the guest.
var errNotXZ = errors.New("rocevm: the kernel inside the bzImage is not compressed by xz")

// bzImagePayload returns the compressed kernel inside a bzImage.
func bzImagePayload(image []byte) ([]byte, error) {
	if len(image) < bootHeaderEnd || string(image[bootMagic:bootMagic+4]) != "HdrS" {
		return nil, errors.New("rocevm: not a bzImage")
	}
	offset := (int64(image[bootSetupSectors])+1)*bootSector + int64(binary.LittleEndian.Uint32(image[bootPayloadOffset:]))
	end := offset + int64(binary.LittleEndian.Uint32(image[bootPayloadLength:]))
	if end > int64(len(image)) {
		return nil, fmt.Errorf("rocevm: the payload of the bzImage ends at %d, behind its end at %d", end, len(image))
	}
	return image[offset:end], nil
}

// unpackKernel writes the ELF kernel inside a bzImage. QEMU starts it directly
// (PVH), which spares an emulated processor four seconds of unpacking at each
// boot.
func unpackKernel(ctx context.Context, bzImage, vmlinux string) error {
	image, err := os.ReadFile(bzImage)
	if err != nil {
		return err
	}
	payload, err := bzImagePayload(image)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(payload, xzMagic) {
		return errNotXZ
	}
	// The size of the kernel follows the stream; xz is told to ignore it.
	return writeFile(vmlinux, func(w io.Writer) error {
		cmd := exec.CommandContext(ctx, "xz", "-d", "-c", "--single-stream")
		cmd.Stdin, cmd.Stdout = bytes.NewReader(payload), w
		return cmd.Run()
	})
}
