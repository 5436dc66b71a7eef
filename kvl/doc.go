// Package kvl is the key-value-links model: items that have a key, attributes, and links
// to other items, so that who has an item reads those behind its links by one READ each,
// without a lookup. This package is the model, the bytes and the making of them; it knows
// no network. Package keli serves what was made here, package load makes it from databases
// and files.
//
// # Terms
//
//   - An item has a type (the table it is from), a key, and attributes. Keys are unique in
//     an image, whatever the type.
//   - An attribute has a name and a value: bytes, a link, or a list of links.
//   - A link says where an item is: area, offset and length, and in which generation. The
//     zero Link leads nowhere, as NULL does.
//   - A list of links has up to Inline of them in the item itself and the others in chunks
//     of at most ChunkLinks, each of which has a link to the next one.
//   - An area is a block of memory. An item is in one area, at a multiple of 8.
//   - An image is all items of one state of the data, with an index of their keys. It is
//     made by a Builder, and never changes. Each has a generation, a number that rises from
//     one image of a server to the next.
//   - Names of types and attributes are numbers in items. Names are told by the schema.
//
// # Invariants
//
//	K1  What is read proves itself: a checksum covers every byte of a record, among them its
//	    generation, its length and its key. A record that was read by a link has the length
//	    and the generation of the link.
//	K2  Whatever the bytes are, decoding them ends, allocates nothing, and reads nothing
//	    outside of them. What is wrong is ErrCorrupt, and is noticed by Parse: views of
//	    an item that was parsed cannot fail. (An error is allocated, and so is a schema.)
//	    Records may be decoded where they are, in memory of a server that must not change them
//	    and might: then views say something else, and still read nothing outside.
//	K3  Links that a Builder wrote lead to items of the same image, or nowhere. It says how
//	    many led to keys that are not there (dangling), and which.
//	K4  The bytes of an image do not depend on where its areas are: the same input, in the
//	    same order, with the same generation, gives the same bytes.
//	K5  A Builder reads its input once. Until Seal it has each item once, in a form in which
//	    a link is 4 bytes, each key once with 18 bytes beside it and at most 26 in a table, and
//	    8 bytes for each link that came by Edge; Seal needs 8 more for these, and gives back
//	    items while it writes them. All of it is allocated by Memory, which Go's collector does
//	    not see.
//	K6  Attributes that a reader does not know are skipped. A reader of this format rejects
//	    records of another one.
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
//	        20  attributes  u16   how many an item has; links of a chunk
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
//	        24  links in line
//
//	schema  | magic "KVLS" | format u8: 1 | 0 u8 | names u16 | { length u8, name } ... |
//	        Names of types and of attributes share their numbers; number 0 is "", which is not
//	        written: the first name has number 1.
//
// The records of an area follow each other without a gap from its beginning to its end. The
// chunks of an item come after it.
//
// # How an image is made
//
// A link has the place and the length of an item, which depend on all links by Edge that it
// has, so nothing can be written before all is known. Items are staged with numbers of keys
// in place of links (stage.go), and keys have notes with what is known about them (keys.go).
// Seal brings the links by Edge into the order of items (order.go), walks over all to give
// places (plan), and again to write (write.go); both see an item as gather.go puts it
// together, so they agree.
//
// # Why not otherwise
//
// Attribute names could be in the items, as the paper has them. They would be a third of
// the bytes of small items. A chunk could have no inline part before it: but most lists
// are short, and then the links are there already when the item is.
//
// Items could be written where they will be read as they come, and their links be filled in
// when their targets have come. But lists that grow by Edge, as those of a foreign key's other
// side, would then have to be known before the items that have them.
//
// Links could be addresses. Then an image could not be served on two devices, nor be
// compared byte by byte.
package kvl
