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

// walkFlags are the flags of kvl walk; kvl get is a walk of depth 0.
type walkFlags struct {
	clientOptions
	depth, maxItems int
}

func newKVLGetCmd(a *app) *cobra.Command {
	f := &walkFlags{maxItems: 1}
	cmd := &cobra.Command{
		Use:   "get KEY...",
		Short: "Print items, with the keys that their links lead to",
		Long: `Print items, with the keys that their links lead to. With --json each item is a line,
with all links of its lists; without, the first ten of each.`,
		Example: "  remora kvl get student/stu001\n  remora kvl get --json department/depcs",
		Args:    keysOnly,
		RunE: func(cmd *cobra.Command, keys []string) error {
			return f.withItems(cmd, func(ctx context.Context, c *keli.Client) error {
				return eachKey(keys, func(key string) error { return f.print(ctx, a, c, key) })
			})
		},
	}
	f.defineForItems(cmd)
	return cmd
}

func newKVLWalkCmd(a *app) *cobra.Command {
	f := &walkFlags{}
	cmd := &cobra.Command{
		Use:   "walk KEY",
		Short: "Print an item and the items behind its links",
		Long: `Print an item and the items behind its links, breadth first and each once, down to
--depth links. With --json each item is a line.`,
		Example: `  remora kvl walk student/stu001
  remora kvl walk --json department/depcs --depth 3 --max-items 1000`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return misuse("%s needs one key", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.depth < 0 || f.maxItems < 1 {
				return misuse("--depth must be 0 or more and --max-items 1 or more")
			}
			return f.withItems(cmd, func(ctx context.Context, c *keli.Client) error { return f.print(ctx, a, c, args[0]) })
		},
	}
	cmd.Flags().IntVar(&f.depth, "depth", 1, "`NUMBER` of links to follow from the item")
	cmd.Flags().IntVar(&f.maxItems, "max-items", 100, "print at most this `NUMBER` of items")
	f.defineForItems(cmd)
	return cmd
}

// print prints what is found from a key, all of one generation.
func (f *walkFlags) print(ctx context.Context, a *app, c *keli.Client, key string) error {
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

// read returns the text to print. It fails if the generation ends meanwhile.
func (f *walkFlags) read(ctx context.Context, a *app, c *keli.Client, key string) ([]byte, error) {
	p := itemPrinter{json: a.json, keys: map[kvl.Link]string{}}
	_, err := c.Walk(ctx, keli.WalkConfig{
		Keys: [][]byte{[]byte(key)}, MaxDepth: f.depth, MaxItems: f.maxItems,
		Schema: func(s *kvl.Schema) { p.schema = s },
	}, p.collect(f.depth))
	if err == nil {
		err = p.print(ctx, c)
	}
	return p.out.Bytes(), err
}

// itemPrinter prints items with the keys that their links lead to.
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

// keyOf returns the key that a link leads to.
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

// linksOf returns the keys behind a list, at most limit.
func (p *itemPrinter) linksOf(ctx context.Context, c *keli.Client, list kvl.List, limit int) (keys []string, err error) {
	enough := errors.New("enough")
	err = c.FollowList(ctx, list, func(item kvl.Item) error {
		if len(keys) == limit {
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

// printable is a value as text.
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
