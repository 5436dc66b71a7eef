// Package hopscotch is FaRM's hash table: a key is always within six slots of its home, so
// that a client finds it with one READ.
//
// # Terms
//
// A slot holds an item or is empty. The low 32 bits of a key's hash choose a slot, its home.
// The home and the five slots behind it are the home's neighbourhood. An item is in any of
// the six places of its home's neighbourhood, whatever the homes of the items around it. The
// last five slots are not homes.
//
// An item is inline, in its slot, or in a block of item memory (package extent) to which
// the slot points. New makes slots of two cache lines, with room for Inline bytes of
// key and value; longer items are in blocks. That is FaRM with inlined values: one READ for
// short items and two for others. NewVar makes slots of half a line, with all items in
// blocks: FaRM-VAR, two READs.
//
// To hop is to move an item to another place of its neighbourhood. In Store mode the items
// of a home that found no slot form its chain, linked from the home's slot from block to
// block.
//
// # Layout
//
// Area 0 has the slots, area 1 item memory. The first two words of a slot belong to it as a
// home: its home word, which names the slots that hold its items, and its chain. The other
// words belong to the item in the slot: lead points to it, label has its version.
//
//	 0       8       16      24      32     40      48       56          64          120    128
//	+-------+-------+-------+-------+------+-------+--------+-----------+-----------+------+
//	| home  | chain | lead  | label | sum  | hash  | expires| flags,    | key and   | word |
//	|       |       |       |       |      |       |        | value len.| value     |      |
//	+-------+-------+-------+-------+------+-------+--------+-----------+-----------+------+
//	|<------ slot of NewVar ------->|                       first line >|< second line     |
//
//	      6 times:  63-60             9        8-0
//	home           +------+--  --+----------+-------+
//	               |  0   |      | holds it | stamp |       place 0 is in the lowest bits
//	               +------+--  --+----------+-------+
//	      63       32 31   24 23   12 11   3 2    0
//	lead +-----------+-------+-------+------+------+
//	     | offset/16 | class | tag   | stamp| place|         offset 0: the item is inline
//	     +-----------+-------+-------+------+------+
//	      63       16 15 14  13    12 11   3 2    0
//	label+-----------+------+--------+------+------+
//	     | version   |  0   | credit | stamp| place|         0: the slot is empty
//	     +-----------+------+--------+------+------+
//	      63       32 31   24 23                  0
//	chain+-----------+-------+---------------------+
//	     | offset/16 | class | version, 24 bits    |         0: none
//	     +-----------+-------+---------------------+
//	      63       16 15                          0
//	word +-----------+-----------------------------+
//	     | version   | length of the key           |
//	     +-----------+-----------------------------+
//
// A block. The head is that of extent, the link is like chain:
//
//	 0      8      16     24     32     40       48               56
//	+------+------+------+------+------+--------+----------------+-----+-------+
//	| head | sum  | link | word | hash | expires| flags, value l.| key | value |
//	+------+------+------+------+------+--------+----------------+-----+-------+
//
// A size class is the length of a block in 8 bits, rounded up by at most an eighth: the
// number of bytes that a client reads. The tag is 12 bits of the hash. A sum is XXH3 over
// hash, expires, flags, lengths, key and value, seeded by word, link (0 if inline) and the
// table's seed. Numbers are little-endian.
//
// # Invariants
//
//	H1  Slots, item memory and the Table itself, for which 4 KiB are reserved, take at most
//	    Config.Memory. New allocates all memory.
//	H2  A slot holds an item if and only if its label is not 0. Then exactly one home word
//	    names the slot: that of the home whose place is in the lead.
//	H3  Lead and label are written together with the home word, under the next stamp of
//	    that place of that home. So a home word, lead and label with equal place and stamp
//	    were written together: others have another place (another home) or another stamp,
//	    up to 512 writes of one slot for one home.
//	H4  A home word changes by a single store. Before it names a slot and a stamp, the slot
//	    is complete. As long as it names them, the slot holds that item, or is being
//	    rewritten for the same key. A hop is one store that names the new place and no longer
//	    the old. So at any moment a home word names each item of its neighbourhood exactly
//	    once.
//	H5  Each cache line of a slot has the version of the inline item: the first in the
//	    label, the second in its last word. Lines of different items do not match.
//	H6  A record is valid if its sum matches, and if its version matches that of the label
//	    or, for 24 bits, of the link that points to it. No version is assigned twice (S2).
//	H7  As long as an item exists it never moves between a chain and a slot: a Put that
//	    replaces it leaves it where it is. The order of a chain does not change, except that
//	    items are added in front and removed.
//	H8  Freeing a block overwrites the sum of the item (X2 of extent). No word points to the
//	    block by then.
//	H9  A call examines 32 slots for an empty one, hops at most as often, and examines 16
//	    items of a chain. A Put that has to make room examines 64 more slots or blocks, and
//	    clears as many bytes as it needs in one piece; in Store mode it tries up to 16 places.
//
// # How a client finds a key
//
// It reads the neighbourhood: one span. In whatever order the bytes are read, the home word
// is read at one moment. If each slot that it names has its place and stamp in lead and
// label, then the items are those of that moment, by H3 and H4; if not, slots were changed
// meanwhile, and the Finder reads again. An inline item with the right tag must be valid
// by H5 and H6, or the Finder reads again. An item in a block is read and must be valid by
// H6; if not, the block has been freed, and the Finder starts over with the neighbourhood.
// So an item that is Found existed at some time since Start, and an item removed before
// Start cannot be reached: no word points to it (E2).
//
// If no item of the home is the key's, the Finder follows the chain. An item that stays in
// the chain all the time is behind each item that the Finder reads, even if that one has
// been removed meanwhile: by H7 the order stays, and by H6 a link is as it was when its item
// was last in the chain, which is after Start. At the end of the chain the key is Missing:
// it was not in the neighbourhood at one moment, nor in the chain at another, and by H7 it
// did not move between them.
//
// After 32 spans the outcome is Ask.
//
// # Order of stores
//
//	put into a slot      record inline or in a block, lead, label, home word
//	replace              the same in the same slot; then the old block is freed. If there
//	                     is no memory for two, the block is overwritten: its sum is wrong
//	                     until it is complete. A cache may evict the old item first.
//	hop from a to b      copy of an inline item, lead and label of b, home word, then label
//	                     and lead of a become 0
//	delete, evict        home word, label, lead; then the block is freed
//	move of a block      copy; then lead, label, home word or the link; then the old block is freed
//	put into a chain     record with the link to the first, sum, then the home's chain
//	take out of a chain  link and sum of the one before, or the home's chain; then it is freed
//	touch                expires, sum
//
// All stores go through internal/fence, since clients read meanwhile.
//
// # How full it gets
//
// With neighbourhoods of six, hops find a slot for nearly all items up to a load of three
// quarters (TestFill). A store puts the others into chains, so that it refuses an item only
// when its memory is full; searches are a little longer then (TestSpans). When an item is
// removed, items that are far from their homes move closer (draw), so that the slots
// around a full neighbourhood do not stay occupied by others.
//
// # When there is no slot
//
// An expired item among the 32 slots examined is dropped. Otherwise a cache
// evicts an item of the neighbourhood: the one with the least credit, and of those the
// oldest. A Get or Touch sets credit to 2, and each time an item is spared takes 1. With
// the eviction FIFO no item has credit. A store puts the new item into the chain; a flood
// of equal hashes ends at 22 items with ErrFull (S8).
//
// # When the memory is full
//
// A cache visits slots in an order that spreads over the whole table, and evicts items in
// blocks that have no credit until there is a block that is long enough. After 8 of those it
// clears a part of item memory (MakeRoom of extent). A store reclaims expired items, then
// moves others, and refuses the new item if that does not help.
//
// # How the memory is divided
//
// New and NewVar fix it. NewVar has 10 slots for 7 items of the papers' 16 + 32 bytes when
// the memory is full of them: 29 % are slots. New gives two fifths to slots and the rest to
// blocks, since it does not know the length of items. If Config.MaxValue says that values
// fit inline beside a key of 16 bytes, slots get nine tenths. An item of 48 bytes takes 118
// bytes of a store by New and 158 by NewVar, all included.
//
// # Threads
//
// One goroutine at a time uses a Table (package store). A Finder belongs to one goroutine.
//
// # Why not otherwise
//
//   - FaRM verifies versions in lines only. That proves that no line is of another version,
//     but not that a freed block was not overwritten or that no bit has flipped. The sum
//     proves all of it; comparing the versions first is cheap.
//   - A version at the beginning of each line would cut keys and values into pieces, but a
//     view must be contiguous. So there are two lines, with the versions at the outer ends.
//   - A bitmap for a home (hopscotch hashing as published) can show a client that reads slots
//     at different moments a place that different items use before and after. The
//     stamp tells them apart.
//   - Blocks of a chain that hold several items, as in FaRM, save READs in long chains. Here
//     one item in 90 is in a chain, and most chains have one item.
//   - A table that grows would have to notify its readers. The memory is known at New.
package hopscotch
