package kvl

// MaxDangled is the largest number of dangling links that Stats lists.
const MaxDangled = 100

// Stats describes an image, or the items added to a Builder. Before Seal, Bytes, Lists, Chunks,
// Areas and Dangling are 0.
type Stats struct {
	Items    int64
	Links    int64 // links that lead somewhere, in lists or not
	Nowhere  int64 // single links that lead nowhere
	Lists    int64 // lists, including empty ones
	Chunks   int64
	Bytes    int64 // of items and chunks
	Areas    int
	Dangling int64     // links to keys without an item, and links that Edge added from such keys
	Dangled  []Dangled // the first MaxDangled of them
}

// Dangled is a link to a key without an item, or a link that Edge added from a key without an
// item. In the second case FromType is "".
type Dangled struct {
	FromType, FromKey string
	Attr              string
	To                string
}

// String describes the link in a sentence.
func (d Dangled) String() string {
	if d.FromType == "" {
		return "there is no item " + d.FromKey + " to add a link " + d.Attr + " to " + d.To
	}
	return d.FromType + " " + d.FromKey + ": " + d.Attr + " leads to " + d.To + ", which does not exist"
}
