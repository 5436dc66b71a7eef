package kvl

// MaxDangled is how many dangling links are told one by one.
const MaxDangled = 100

// Stats is what an image has. Those of a Builder that is not sealed have what it was
// given: Bytes is 0 until then, Lists and Chunks too, and nothing dangles yet.
type Stats struct {
	Items    int64 // that came to their End
	Links    int64 // that lead somewhere, in lists or not
	Nowhere  int64 // single links that lead nowhere
	Lists    int64 // lists, those without a link too
	Chunks   int64
	Bytes    int64 // of items and chunks
	Areas    int
	Dangling int64     // links to keys that are not there, and links that were to be added to such
	Dangled  []Dangled // the first MaxDangled of them
}

// Dangled is a link to a key that is not there, or one that was to be added to an item
// that is not there by Edge. In that case FromType is "", as no item has told.
type Dangled struct {
	FromType, FromKey string
	Attr              string
	To                string
}

// String is for people.
func (d Dangled) String() string {
	if d.FromType == "" {
		return "the item " + d.FromKey + " of the link " + d.Attr + " to " + d.To + " is not there"
	}
	return d.FromType + " " + d.FromKey + ": " + d.Attr + " leads to " + d.To + ", which is not there"
}
