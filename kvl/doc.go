// Package kvl implements the key-value-links model: items that have a key, attributes, and links
// to other items. A client that holds an item follows each of its links with one READ, without a
// lookup.
//
// A Builder makes an Image from items. ParseItem and ParseChunk decode records read from one.
// This package knows no network: package keli serves images, and package load makes them from
// databases and files.
//
// # Terms
//
//   - An item has a type (the table it is from), a key, and attributes. Keys are unique in
//     an image, whatever the type.
//   - An attribute has a name and a value: bytes, a link, or a list of links.
//   - A link locates an item by generation, area, offset and length. The zero Link leads
//     nowhere, like NULL.
//   - A list of links has up to Inline links in the item itself and the others in chunks
//     of at most ChunkLinks, each with a link to the next chunk.
//   - An area is a block of memory. An item is in one area, at a multiple of 8.
//   - An image is all items of one state of the data, with an index of their keys. A Builder
//     makes it, and it never changes. Each image has a generation, a number that rises from one
//     image of a server to the next.
//   - Items contain the numbers of types and attributes instead of their names. The schema of the
//     image has the names.
//
// # Invariants
//
//	K1  A record is self-verifying: a checksum covers every byte of it, including its generation,
//	    its length and its key. A record must have the length and the generation of the link by
//	    which it was read.
//	K2  Decoding any bytes ends, allocates only errors and schemas, and reads nothing outside the
//	    bytes. Parse functions return ErrCorrupt for invalid bytes; methods of a parsed item
//	    cannot fail. Records may be decoded in place, in memory that a faulty server might still
//	    change: then methods return wrong values, but still read nothing outside.
//	K3  Links written by a Builder lead to items of the same image, or nowhere. The Builder
//	    counts and lists the links to keys without an item (dangling links).
//	K4  The bytes of an image do not depend on the addresses of its areas: the same input, in the
//	    same order, with the same generation, gives the same bytes.
//	K5  A Builder reads its input once. Until Seal it holds each item once, with links of 4 bytes;
//	    each key once, with 18 bytes of metadata and at most 26 in a table; and 8 bytes for each
//	    link added by Edge. Seal needs 8 more for each of these, and frees items
//	    while it writes them. Memory allocates all of it outside the Go heap.
//	K6  A reader skips attributes of kinds that it does not know. It rejects records of another
//	    format.
//
// # Bytes
//
// Little-endian. A record is an item or a chunk; it begins at a multiple of 8 and is a
// multiple of 8 long, padded with zeros.
//
//	record  0   checksum    u32   CRC-32C of what follows
//	        4   length      u32   of the record
//	        8   generation  u64
//	        16  kind        u8    1 item, 2 chunk
//	        17  format      u8    1
//	        18  type        u16   of an item, by its number in the schema
//	        20  attributes  u16   number of attributes of an item, or of links of a chunk
//	        22  key         u16   length of the key; 0 in a chunk
//	        24
//
//	item    24  key, padded to 8
//	        ..  an entry of 8 bytes for each attribute, by rising number, no number twice:
//	            | name u16 | kind u8: 1 bytes, 2 link, 3 list | 0 u8 | length of its payload u32 |
//	        ..  payloads in the order of the entries, each padded to 8
//
//	chunk   24  next link 16, then links of 16 each
//
//	link    0   offset / 8 (40 bits) and area (24 bits)
//	        8   length     u32    of the record
//	        12  generation u32    its low bits; a link with length 0 leads nowhere
//
//	list    0   links in all, u64
//	        8   link to the first chunk, 16
//	        24  inline links
//
//	schema  | magic "KVLS" | format u8: 1 | 0 u8 | names u16 | { length u8, name } ... |
//	        Types and attributes share one sequence of numbers. Number 0 is "", which is not
//	        encoded: the first name has number 1.
//
// The records of an area follow each other without a gap. The chunks of an item come after it.
//
// # How an image is made
//
// A link contains the place and the length of an item. Both depend on all links that Edge added to
// the item, so nothing can be written before all input is known. Items are staged with
// numbers of keys in place of links (stage.go), and each key has a note with its metadata
// (keys.go). Seal sorts the links of Edge by items (order.go), visits all items to assign places
// (plan in seal.go), and visits them again to write (write.go). Both visits see an item as gather.go
// assembles it, so they agree.
//
// # Why not otherwise
//
// Attribute names could be in the items, as in the paper. They would take a third of the bytes of
// small items. Lists could be in chunks only; but most lists are short, and inline links arrive with
// the item.
//
// Items could be written to their place when they are added, and their links filled in later. But
// then lists that grow by Edge, such as the reverse side of a foreign key, would have to be complete
// before their items.
//
// Links could be addresses. Then an image could not be served on two devices, nor be compared byte
// by byte.
package kvl
