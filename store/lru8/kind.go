package lru8

import "github.com/remora-kv/remora/internal/extent"

// Kinds of blocks in use.
const (
	kindItem  = extent.Taken
	kindChain = extent.Taken + 1 // an overflow bucket
)
