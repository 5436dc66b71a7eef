// Package settings fills the flags of a command from the environment and from a
// file, with one precedence: what was given on the command line, then the
// environment, then the file, then the default.
//
// The flag --max-value is MAX_VALUE in the environment, with the program's prefix
// in front, and max-value in the file. The file has one setting in a line, a name,
// an equals sign and a value; empty lines and those that begin with # are
// comments. A flag that is a list may stand in the file several times, or once
// with commas.
//
//	# /etc/remora.conf
//	listen = shm:/run/remora.sock
//	listen = tcp://:7700
//	memory = 8GiB
//
// A name that is no flag is an error, as on the command line.
package settings
