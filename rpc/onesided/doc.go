// Package onesided lets clients find items in the memory of a server by READs, without
// the server's CPU: the way of Pilaf, FaRM-KV and the slot cache to serve a GET.
//
// # Terms
//
// A table is what one partition exports (store.Export): areas of memory and a layout. A
// reader connection is one RC queue pair in the protection domain that has the areas of all
// partitions and nothing else. An Acceptor has the server's ends of the reader connections of a
// device, and a ReaderConn is the client's end of one; package keli uses them, too. The directory
// says where the areas are; a client READs it when it connects. A search is the way to one key: a
// store.Finder says what to READ and judges what came.
//
// What a search cannot tell is for the server to answer (store.Ask), by another path. So
// is every change: nothing here writes, except that a search may add to the word that
// counts the uses of an item (ConnConfig.Touch), where the engine has one.
//
// # Invariants
//
//	O1  No core takes part: the server accepts and closes connections. It posts nothing and
//	    polls nothing for them.
//	O2  A client can READ what is exported and add to words in areas that are meant for
//	    it, and can name no other memory (G7): neither requests nor results of any client.
//	O3  What was read is copied by the fabric into memory of the client before it is
//	    judged, and is judged where no peer changes it.
//	O4  A span is READ only if it is wholly inside its area, as the directory says, and
//	    fits the buffer of the search. The directory itself is checked and not trusted.
//	O5  Searches have their outcomes in the order in which they were started.
//	O6  Starting, polling and taking allocate nothing.
//	O7  A reader connection that breaks makes room for another at once. When Close of an
//	    Acceptor returns, all its queue pairs are closed.
//	O8  The end of a reader connection wakes a client that waits: it completes a receive to
//	    which no client sends.
//
// # Handshake
//
// Private data, little-endian.
//
//	hello    | magic 2 | version 1 | 0 |
//	welcome  | magic 2 | version 1 | 0 | directory: address 8 | key 4 | length 4 |
//
//	directory   | magic 4 | tables 4 | instance 8 | table ... |
//	table       | length of the layout 2 | areas 2 | 0 4 | layout, padded to 8 | area ... |
//	area        | address 8 | length 8 | key 4 | 1 if it can be added to 4 |
//
// # Threads
//
// A Server and an Acceptor are for any goroutine. A Conn belongs to one goroutine at a time, but
// for Wake and Disconnect; so does a ReaderConn, but for QP.Disconnect and Waiter.Wake.
//
// # Why not otherwise
//
// The READs could go through the queue pairs of rfp. But then all areas would be in the
// domain of its request memory, and a batch of slow READs would hold up requests.
package onesided
