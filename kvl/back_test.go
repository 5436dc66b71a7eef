package kvl_test

import (
	"testing"

	"github.com/remora-kv/remora/kvl"
)

// A dangling link is reported once, even if it has a link back.
func TestBackLinksDangleOnce(t *testing.T) {
	b, err := kvl.NewBuilder(kvl.Config{Dangling: kvl.Null})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	n := names(b, "student", "supervisor", "students", "friends")
	student, supervisor, students, friends := n[0], n[1], n[2], n[3]
	b.Back(students)
	b.Begin(student, []byte("a"))
	b.Link(supervisor, []byte("gone"))
	if err := b.End(); err != nil {
		t.Fatal(err)
	}
	b.Edge([]byte("gone"), students, []byte("a"))
	b.Edge([]byte("a"), students, []byte("gone too"))
	b.Edge([]byte("lost"), friends, []byte("a"))
	b.Edge([]byte("a"), friends, []byte("lost"))
	image, err := b.Seal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer image.Close()
	want := []kvl.Dangled{
		{FromKey: "lost", Attr: "friends", To: "a"},
		{FromType: "student", FromKey: "a", Attr: "supervisor", To: "gone"},
		{FromType: "student", FromKey: "a", Attr: "friends", To: "lost"},
	}
	s := image.Stats()
	if s.Dangling != int64(len(want)) || len(s.Dangled) != len(want) {
		t.Fatalf("%d dangle: %v", s.Dangling, s.Dangled)
	}
	for i, w := range want {
		if s.Dangled[i] != w {
			t.Errorf("reported %v, want %v", s.Dangled[i], w)
		}
	}
}
