// Package load makes items with links (package kvl) from databases and files: SQLite,
// PostgreSQL, JSON Lines and edge lists.
//
// # Terms
//
//   - A source is where rows come from. Open tells which kind it is by its name.
//   - A mapping says what becomes of them: of a table the type of its items, of columns
//     their keys, attributes and links. What a mapping does not say is completed from the
//     catalog of the database; so the empty mapping means all tables, as they are.
//   - A reference is one or more columns that hold the key of a row elsewhere: a foreign
//     key. It becomes a link, and where it leads a list of links back, the reverse list.
//   - An edge table has rows that become no items, but links between two others.
//
// # Invariants
//
//	L1  What is loaded is one state of the source: a database is read in one transaction
//	    that began before its catalog was read, and does not see what is written since.
//	L2  Rows are streamed: what is kept of them is what the Builder keeps.
//	L3  A value is the same bytes wherever it is used, so that a reference has the bytes of
//	    the key it names: integers and text as their text, blobs as they are, reals as the
//	    shortest decimal that reads as the same number. NULL is no attribute, no link.
//	L4  Keys are unique: "table/key"; the values of a key of several columns are joined by
//	    commas, with \ before a comma or \ of their own. Two rows with one key are an error.
//	L5  The same rows in the same order give the same items and lists in the same order.
//	    SQLite is read in the order of row numbers or primary keys, files as they are, and
//	    PostgreSQL as its tables lie on disk.
//	L6  An error says where: table and row, file and line, file and field of a mapping.
//	L7  The source is not changed. A SQLite file is opened for reading; a transaction of
//	    PostgreSQL is READ ONLY.
//
// # Who calls what
//
// A Source may be loaded any number of times, one after the other; each time it is another
// state. Watch is for PostgreSQL, beside that.
//
// # Why not otherwise
//
// Rows of SQLite are taken from its driver and not through database/sql, which would copy
// and convert each value once more. References to columns other than the primary key could
// be resolved by a second index here; the database has one, so they are joined there.
//
// Prepared lists of references, sorted by where they lead, would make reverse lists without
// Builder.Edge. They would be a sort of the whole table in the database.
package load
