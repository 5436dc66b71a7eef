package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora/kvl"
	"github.com/remora-kv/remora/kvl/keli"
)

// itemFlags are the flags of item.
type itemFlags struct {
	clientOptions
	depth, items int
}

func newItemCmd(a *app) *cobra.Command {
	f := &itemFlags{}
	cmd := &cobra.Command{
		Use:   "item KEY",
		Short: "Print an item with links, and those behind its links",
		Long: `Print an item of a server of remora serve --kvl: its attributes, with the keys of
what its links lead to. With --depth the items behind its links are printed, too, and
those behind theirs, breadth first and each once. With --json each item is a line.

Exit codes: 0 done, 1 failure, 2 wrong usage, 3 there is no such item, 5 the server
cannot be reached.`,
		Example: `  remora item student/stu001
  remora item student/stu001 --depth 2
  remora item --json department/depcs --depth 3 --items 1000`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return misuse("%s needs one key", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), a, args[0]) },
	}
	f.define(cmd.Flags())
	cmd.Flags().IntVar(&f.depth, "depth", 0, "how many links to follow from the item")
	cmd.Flags().IntVar(&f.items, "items", 100, "how many items to print at most")
	return cmd
}

func (f *itemFlags) run(ctx context.Context, a *app, key string) error {
	if f.depth < 0 || f.items < 1 || f.timeout <= 0 {
		return misuse("--depth must be 0 or more, --items 1 or more, --timeout positive")
	}
	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	c, err := f.dialKVL(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	for {
		text, err := f.read(ctx, a, c, key)
		switch {
		case err == nil:
			_, err = a.out.Write(text)
			return err
		case !errors.Is(err, keli.ErrGenerationOver) && !errors.Is(err, keli.ErrGeneration) || ctx.Err() != nil:
			return err
		}
	}
}

// read returns what is printed: all of one generation. If that ends meanwhile there is none.
func (f *itemFlags) read(ctx context.Context, a *app, c *keli.Client, key string) ([]byte, error) {
	p := itemPrinter{json: a.json, keys: map[kvl.Link]string{}}
	_, err := c.Walk(ctx, keli.WalkConfig{
		Keys: [][]byte{[]byte(key)}, MaxDepth: f.depth, MaxItems: f.items,
		Schema: func(s *kvl.Schema) { p.schema = s },
	}, p.collect(f.depth))
	if err == nil {
		err = p.print(ctx, c)
	}
	return p.out.Bytes(), err
}

// itemPrinter prints items with the keys of what their links lead to.
type itemPrinter struct {
	out    bytes.Buffer
	json   bool
	schema *kvl.Schema
	items  []kvl.Item
	keys   map[kvl.Link]string
}

// collect keeps the items of a walk.
func (p *itemPrinter) collect(depth int) keli.Visit {
	return func(item kvl.Item, at int) (bool, error) {
		p.items = append(p.items, item.Clone())
		return at < depth, nil
	}
}

// shownLinks is how many links of a list are printed for people.
const shownLinks = 10

func (p *itemPrinter) print(ctx context.Context, c *keli.Client) error {
	for _, item := range p.items {
		var err error
		if p.json {
			err = p.printJSON(ctx, c, item)
		} else {
			err = p.printText(ctx, c, item)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// keyOf returns the key of what a link leads to.
func (p *itemPrinter) keyOf(ctx context.Context, c *keli.Client, l kvl.Link) (string, error) {
	if l.IsZero() {
		return "", nil
	}
	if key, ok := p.keys[l]; ok {
		return key, nil
	}
	item, err := c.Follow(ctx, l)
	if err != nil {
		return "", err
	}
	p.keys[l] = string(item.Key())
	return p.keys[l], nil
}

// linksOf returns the keys behind a list, at most so many.
func (p *itemPrinter) linksOf(ctx context.Context, c *keli.Client, list kvl.List, most int) (keys []string, err error) {
	enough := errors.New("enough")
	err = c.FollowList(ctx, list, func(item kvl.Item) error {
		if len(keys) == most {
			return enough
		}
		keys = append(keys, string(item.Key()))
		return nil
	})
	if errors.Is(err, enough) {
		err = nil
	}
	return keys, err
}

func (p *itemPrinter) printText(ctx context.Context, c *keli.Client, item kvl.Item) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)\n", item.Key(), p.schema.Name(item.Type()))
	for at := range item.Attrs() {
		name := p.schema.Name(at.Name)
		switch at.Kind {
		case kvl.KindLink:
			key, err := p.keyOf(ctx, c, at.Link())
			if err != nil {
				return err
			}
			if key == "" {
				key = "nowhere"
			}
			fmt.Fprintf(&b, "  %s -> %s\n", name, key)
		case kvl.KindList:
			keys, err := p.linksOf(ctx, c, at.List(), shownLinks)
			if err != nil {
				return err
			}
			if more := at.List().Len() - len(keys); more > 0 {
				keys = append(keys, fmt.Sprintf("and %d more", more))
			}
			fmt.Fprintf(&b, "  %s => %s\n", name, strings.Join(keys, ", "))
		default:
			fmt.Fprintf(&b, "  %s: %s\n", name, printable(at.Bytes()))
		}
	}
	p.out.WriteString(b.String())
	return nil
}

// printable is a value for people.
func printable(v []byte) string {
	if text := string(v); utf8.ValidString(text) && !strings.ContainsAny(text, "\n\r\x1b\x00") {
		return text
	}
	return fmt.Sprintf("%q", v)
}

// linkedLine is an item as JSON.
type linkedLine struct {
	Key        string              `json:"key"`
	Type       string              `json:"type"`
	Generation uint64              `json:"generation"`
	Values     map[string]string   `json:"values,omitempty"`
	Base64     map[string][]byte   `json:"values_base64,omitempty"`
	Links      map[string]*string  `json:"links,omitempty"`
	Lists      map[string][]string `json:"lists,omitempty"`
}

func (p *itemPrinter) printJSON(ctx context.Context, c *keli.Client, item kvl.Item) error {
	line := linkedLine{
		Key: string(item.Key()), Type: p.schema.Name(item.Type()), Generation: item.Generation(),
		Values: map[string]string{}, Base64: map[string][]byte{}, Links: map[string]*string{}, Lists: map[string][]string{},
	}
	for at := range item.Attrs() {
		name := p.schema.Name(at.Name)
		switch at.Kind {
		case kvl.KindLink:
			key, err := p.keyOf(ctx, c, at.Link())
			if err != nil {
				return err
			}
			if line.Links[name] = &key; key == "" {
				line.Links[name] = nil
			}
		case kvl.KindList:
			keys, err := p.linksOf(ctx, c, at.List(), at.List().Len())
			if err != nil {
				return err
			}
			line.Lists[name] = append([]string{}, keys...)
		default:
			if v := at.Bytes(); utf8.Valid(v) {
				line.Values[name] = string(v)
			} else {
				line.Base64[name] = append([]byte(nil), v...)
			}
		}
	}
	return json.NewEncoder(&p.out).Encode(line)
}
