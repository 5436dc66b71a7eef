// Package crc32c is CRC-32C (Castagnoli), the checksum of everything that Remora stores and
// of what clients read by themselves. It is hash/crc32 with that table, but for long data on
// CPUs that multiply polynomials of 512 bits at once.
//
// # How
//
// The remainder of a message does not change when 128 of its bits, at distance D from where they are
// added, are replaced by their product with x^D mod P. So four registers of 512 bits take 256 bytes at a
// time, each multiplied by x^2048 (two halves of 64 bits, by x^(2048+32) and x^(2048-32), since
// bits are reflected) and added to what follows. What is left at the end, 16 bytes with the same remainder
// as all, goes through the CRC32 instruction.
//
// # Why not otherwise
//
// hash/crc32 uses three chains of the CRC32 instruction. For values of a megabyte that takes more than
// half of the time of a put beside its copies. Libraries that fold do so for the polynomial of IEEE only.
package crc32c
