// Package flat writes rows, structures with names for JSON, as lines of CSV, one column
// for each field.
//
//	F1  Columns are the fields that JSON has, in the order in which they are declared,
//	    whatever is in them: all rows of a type have the same columns.
//	F2  A structure in a structure is its own columns, with its name before theirs:
//	    verbs_per_op_read. An embedded one has no name.
//	F3  A list or a map is one cell, in JSON.
//	F4  What is not there (nil, an empty list or map) is an empty cell. A zero is 0.
package flat
