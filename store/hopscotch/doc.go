// Package hopscotch is the table of FaRM: a key is always within six slots of its home, so
// that a client finds it by one READ.
//
// # Terms
//
// A slot holds an item or is empty. The low 32 bits of a key's hash choose its home, which
// is a slot; the home and the five slots behind it are the neighbourhood of the home. An
// item is in the neighbourhood of its home, in any of the six places, whatever the homes of
// the items around it are. The last five slots are no homes.
//
// An item is in line, in its slot, or in a block of item memory (package extent) to which
// the slot leads. New makes slots of two cache lines, which have room for Inline bytes of
// key and value, and longer items are in blocks: FaRM with inlined values, one READ for
// short items and two for others. NewVar makes slots of half a line, and all items are in
// blocks: FaRM-VAR, two READs.
//
// To hop is to move an item to another place of its own neighbourhood. In Store mode the
// items of a home that found no slot are its chain, linked from the home's slot from block
// to block.
//
// # Layout
//
// Area 0 has the slots, area 1 item memory. A slot, of which the first two words belong to
// it as a home, and the others to the item that it holds:
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
//	     | offset/16 | class | tag   | stamp| place|         offset 0: the item is in line
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
// A class is the length of a block in 8 bits, rounded up by at most an eighth: what a
// reader has to read. The tag is 12 bits of the hash. A sum is XXH3 over hash, expires,
// flags, lengths, key and value, seeded by word, link (0 in line) and the table's seed.
// Numbers are little-endian.
//
// # Invariants
//
//	H1  Slots, item memory and the Table itself, for which 4 KiB are set aside, are at most
//	    Config.Memory. Nothing is taken from the arena after New.
//	H2  A slot holds an item exactly if its label is not 0, and exactly then one home says
//	    that it holds it: the one whose place the lead names.
//	H3  Lead and label are written together with the home, under a stamp that is the next
//	    one of that place of that home. So home, lead and label with the same place and
//	    stamp are of one writing: others have another place (another home), or another
//	    stamp, up to 512 writings of one slot for one home.
//	H4  A home's word is one store. Before it names a slot and a stamp, the slot is complete;
//	    as long as it names them, the slot holds that item, or is being written anew for
//	    the same key; and a hop is one store which names the new place and no longer the
//	    old. So what a home's word names at a moment are the items of the neighbourhood at
//	    that moment, all of them and each once.
//	H5  Each cache line of a slot has the version of the item in line: the first in the
//	    label, the second in its last word. Lines of different items do not agree.
//	H6  A record proves itself if its sum fits. Its version is that of the label, or for 24
//	    bits that of the link, which led to it. A version is never given twice (S2).
//	H7  An item in a chain never comes into a slot, and one in a slot never into a chain, as
//	    long as it is there: a Put that replaces it leaves it where it is. The order of a
//	    chain does not change but for items that come in front and items that go.
//	H8  Freeing a block overwrites the sum of the item (X2 of extent), and nothing
//	    leads to it by then.
//	H9  A call looks at 32 slots for an empty one, hops at most as often, and at 16 items of
//	    a chain. A Put that has to make room looks at 64 more slots or blocks, and clears as
//	    many bytes as it needs in one piece, in Store mode in up to 16 places.
//
// # How a client finds a key
//
// It reads the neighbourhood: one span. Whatever the order in which the bytes were read,
// there was one moment at which the home's word was read. If each slot that the word names
// has its place and stamp in lead and label, then the word's items are known as they were at
// that moment, by H3 and H4; if not, slots were changed meanwhile, and it reads again. An
// item in line of the right tag proves itself by H5 and H6, or it reads again. One in a
// block is read and proves itself by H6; if it does not, the block has been freed since, and
// it begins again with the neighbourhood. So what is Found was there at some time since
// Start, and what was there before Start cannot be reached: nothing leads to it (E2).
//
// If nothing that the word names is the key, it follows the chain from item to item. An item
// that was in the chain all the time is still behind each item that the reader comes to,
// even if that one has been taken out meanwhile: by H7 the order stays, and by H6 a link is
// as it was when its item was last in the chain, which is since Start. If the reader comes
// to the end, the key was Missing: it was not in the neighbourhood at one moment, nor in the
// chain at another, and by H7 it has not gone from one to the other in between.
//
// After 32 spans it gives up and says Ask.
//
// # Order of stores
//
//	put into a slot      record in line or block, lead, label, home
//	replace              the same in the same slot; then the old block is freed. Where there
//	                     is no memory for two, the block is overwritten: its sum does not fit
//	                     until it is complete. A cache may evict the old item first.
//	hop from a to b      copy of what is in line, lead and label of b, home, then label and
//	                     lead of a become 0
//	delete, evict        home, label, lead; then the block is freed
//	move of a block      copy; then lead, label, home or the link; then the old one is freed
//	put into a chain     record with the link to the first, sum, then the home's chain
//	take out of a chain  link and sum of the one before, or the home's chain; then it is freed
//	touch                expires, sum
//
// All of it is written by internal/fence, since peers read meanwhile.
//
// # How full it gets
//
// With neighbourhoods of six, hops find a slot for nearly all items up to three quarters of
// the slots (TestFill). A store puts the others into chains, so that it refuses an item only
// when its memory is full; searches are a little longer then (TestSpans). When an item goes,
// items that are far from their homes are drawn back (draw), so that the slots
// around a full neighbourhood do not stay occupied by others.
//
// # When there is no slot
//
// An item of the 32 slots looked at that has expired gives up its slot. Otherwise a cache
// evicts one of the neighbourhood: the one with the least credit, and of those the one that
// was written first. Credit comes with use: it is 2 after a Get or Touch, and each time an
// item is spared takes 1. With the eviction FIFO no item has credit. A store puts the item
// into the chain; a flood of equal hashes ends at 22 items with ErrFull (S8).
//
// # When the memory is full
//
// A cache goes from slot to slot, in an order that spreads over the whole table, and evicts
// items in blocks that have no credit until there is a block that is long enough. After 8
// of those it clears a part of item memory (MakeRoom of extent). A store reclaims what
// has expired, then moves items, and refuses the item if that does not help.
//
// # How the memory is divided
//
// For good, at New. NewVar has 7 items of the papers' 16 + 32 bytes for 10 slots when the
// memory is full of them: 29 % are slots. New gives two fifths to slots and the rest to
// blocks, since it does not know how long items will be; if Config.MaxValue says that values
// fit beside a key of 16 bytes, nine tenths to slots. An item of 48 bytes takes 118 bytes of
// a store by New and 158 by NewVar, all included.
//
// # Threads
//
// One goroutine at a time, see package store. A Finder belongs to one goroutine.
//
// # Why not otherwise
//
//   - Versions in lines and nothing else, as in FaRM, prove that no line is of another
//     version, and not that nothing was written over a block that has been freed, nor that a
//     bit has not flipped. The sum proves all of it; the versions are there first, and cost
//     a comparison.
//   - A version at the beginning of each line cuts keys and values into pieces, and a view
//     has to be in one. So there are two lines, and the versions are at the outer ends.
//   - A bitmap for a home (hopscotch hashing as published) shows a reader that reads slots
//     at different moments a place that is in use before and after, by different items. The
//     stamp tells them apart.
//   - Blocks of a chain that hold several items, as in FaRM, save READs in long chains. Here
//     one item in 90 is in a chain, and most chains have one.
//   - A table that grows would have to notify its readers. The memory is known at New.
package hopscotch
