package kvl_test

import (
	"context"
	"fmt"

	"github.com/remora-kv/remora/kvl"
)

// names returns the numbers of names, which are not too long.
func names(b *kvl.Builder, all ...string) []uint16 {
	numbers := make([]uint16, len(all))
	for i, name := range all {
		n, err := b.Name(name)
		if err != nil {
			panic(err)
		}
		numbers[i] = n
	}
	return numbers
}

// Students have a link to their supervisor, who has a list of links back.
func Example() {
	b, err := kvl.NewBuilder(kvl.Config{Generation: 1})
	if err != nil {
		panic(err)
	}
	defer b.Close()
	n := names(b, "student", "professor", "name", "supervisor", "students")
	student, professor, name, supervisor, students := n[0], n[1], n[2], n[3], n[4]

	for _, s := range []string{"Ada", "Ben"} {
		b.Begin(student, []byte("student/"+s))
		b.Bytes(name, []byte(s))
		b.Link(supervisor, []byte("professor/Kim")) // is added later
		if err := b.End(); err != nil {
			panic(err)
		}
		b.Edge([]byte("professor/Kim"), students, []byte("student/"+s))
	}
	b.Begin(professor, []byte("professor/Kim"))
	b.Bytes(name, []byte("Kim"))
	if err := b.End(); err != nil {
		panic(err)
	}
	image, err := b.Seal(context.Background())
	if err != nil {
		panic(err)
	}
	defer image.Close()

	link, _ := image.Lookup([]byte("student/Ada"))
	ada, _ := image.Item(link)
	link, _ = ada.Link(supervisor)
	kim, _ := image.Item(link)
	fmt.Printf("%s %s supervises\n", image.Schema().Name(kim.Type()), kim.Key())
	list, _ := kim.List(students)
	for l := range image.Links(list) {
		s, _ := image.Item(l)
		value, _ := s.Bytes(name)
		fmt.Printf("  %s\n", value)
	}
	// Output:
	// professor professor/Kim supervises
	//   Ada
	//   Ben
}
