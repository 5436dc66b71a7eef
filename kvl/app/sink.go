package app

// sink takes items one after the other: with links (linkSink) or with keys in their place
// (valueSink). Keys and values are copied.
type sink interface {
	begin(t kind, key []byte)
	bytes(a attr, value []byte)
	link(a attr, key []byte)
	list(a attr)
	add(key []byte) // to the list that was begun last
	end() error
}

// kind is the type of an item.
type kind uint8

const (
	userKind kind = iota
	productKind
	reviewKind
	buyerKind
	nodeKind
	segmentKind
	streetKind
	cellKind
	kinds
)

var kindNames = [kinds]string{"user", "product", "review", "buyer", "node", "segment", "street", "cell"}

// attr is an attribute.
type attr uint8

const (
	nameAttr attr = iota
	followersAttr
	textAttr
	starsAttr
	reviewsAttr
	productAttr
	buyerAttr
	placeAttr
	fromAttr
	toAttr
	streetAttr
	cellAttr
	segmentsAttr
	attrs
)

var attrNames = [attrs]string{
	"name", "followers", "text", "stars", "reviews", "product", "buyer", PlaceName, "from", "to", "street", "cell", "segments",
}
