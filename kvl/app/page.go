package app

import "bytes"

// beginPage writes the head of a page.
func beginPage(page *bytes.Buffer, name, text []byte) {
	page.WriteString("<!doctype html><h1>")
	page.Write(name)
	page.WriteString("</h1><p>")
	page.Write(text)
	page.WriteString("<ul>")
}

func endPage(page *bytes.Buffer) { page.WriteString("</ul>") }

// reviewText is what a page says of a review, but for who wrote it.
type reviewText struct{ stars, text []byte }

func newReviewText(stars, text []byte) reviewText {
	return reviewText{append([]byte(nil), stars...), append([]byte(nil), text...)}
}

func (r *reviewText) write(page *bytes.Buffer, buyer []byte) {
	page.WriteString("<li>")
	page.Write(r.stars)
	page.WriteString(" of 5, by ")
	page.Write(buyer)
	page.WriteString(": ")
	page.Write(r.text)
}
