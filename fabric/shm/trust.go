package shm

import (
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"slices"
	"strconv"

	"github.com/remora-kv/remora/fabric"
)

// UserOption is the option of an address by which a client trusts servers of another user:
// shm:/run/remora/remora.sock?user=remora. It is a name or a number, and can be repeated.
const UserOption = "user"

// trustedUsers returns the users that an address names.
func trustedUsers(addr fabric.Addr) ([]int, error) {
	var uids []int
	for _, name := range addr.Options[UserOption] {
		uid, err := strconv.Atoi(name)
		if err != nil {
			var u *user.User
			if u, err = user.Lookup(name); err == nil {
				uid, err = strconv.Atoi(u.Uid)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("fabric: address %v: user %q does not exist here; give its number: %w", addr, name, fabric.ErrInvalid)
		}
		uids = append(uids, uid)
	}
	return uids, nil
}

// trust checks who listens at the other end, as the kernel knows it (I8).
func (s socket) trust(addr fabric.Addr, trusted []int) error {
	server, err := s.credentials()
	if err != nil {
		return err
	}
	if server.UID == os.Geteuid() || server.UID == 0 || slices.Contains(trusted, server.UID) {
		return nil
	}
	return fmt.Errorf("the server there is of user %d, neither of user %d, who dials, nor of root; to trust it, dial shm:%s?%s=%d: %w",
		server.UID, os.Geteuid(), addr.Name, UserOption, server.UID, fs.ErrPermission)
}
