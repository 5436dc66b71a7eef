// Package load makes items with links (package kvl) from databases and files: SQLite,
// PostgreSQL, JSON Lines and edge lists.
//
// Open opens a source, and Load reads it into a kvl.Builder.
//
// # Terms
//
//   - A source is a database or a file. Open recognizes its kind by its name.
//   - A mapping says how the source becomes items: which types of items from tables, and which
//     keys, attributes and links from columns. Fields that a mapping omits are taken from the
//     catalog of the database, so the empty mapping means all tables, as they are.
//   - A reference is one or more columns that hold the key of another row, such as a foreign
//     key. It becomes a link, and the target item gets a list of links back, the reverse
//     list.
//   - The rows of an edge table become links between two items, not items.
//
// # Invariants
//
//	L1  A load sees one state of the source: a database is read in one transaction that begins
//	    before its catalog is read, and does not see later writes. While it is open,
//	    PostgreSQL cannot vacuum rows that were deleted or replaced since it began.
//	L2  Rows are streamed; only the Builder keeps data.
//	L3  A value becomes the same bytes wherever it is used, so that a reference has the bytes of
//	    the key it names: integers and text become their text, blobs stay as they are, and reals
//	    become the shortest decimal that reads as the same number. NULL becomes neither an
//	    attribute nor a link.
//	L4  Keys are unique: "table/key". The values of a key of several columns are joined by
//	    commas; a comma or \ in a value is preceded by \. Two rows with one key are an error.
//	L5  The same rows in the same order give the same items and lists in the same order.
//	    SQLite is read in the order of row numbers or primary keys, files from the first line to
//	    the last, and PostgreSQL in the order of its tables on disk.
//	L6  An error names the table and row, file and line, or file and field of a mapping.
//	L7  A load does not change the source. It opens a SQLite file for reading, and its transaction
//	    in PostgreSQL is READ ONLY.
//
// # Threads
//
// One goroutine at a time uses a Source. It may be loaded any number of times; each load sees the
// state of that time. Watch reports changes of a PostgreSQL database, in a goroutine of its own.
//
// # Why not otherwise
//
// database/sql could read SQLite, but would copy and convert each value once more, so rows come from
// the driver. An index in this package could resolve references to columns other than the primary
// key. The database has such an index already, so it joins the tables.
//
// The database could sort references by their targets, to make reverse lists without Builder.Edge,
// but would have to sort whole tables.
package load
