package papers_test

import (
	"fmt"

	"github.com/remora-kv/remora/bench/papers"
)

func ExampleFind() {
	f, err := papers.Find("herd-fig9")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Number, "over", f.X)
	fmt.Println(len(f.Points(papers.Default(2))), "points")
	// Output:
	// Figure 9 over % GET
	// 12 points
}
