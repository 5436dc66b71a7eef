package main

import (
	"bytes"
	"context"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora"
)

func newGetCmd(a *app) *cobra.Command {
	o := &clientOptions{}
	cmd := &cobra.Command{
		Use:   "get KEY...",
		Short: "Print the values of keys",
		Long: `Print the values of keys, one after the other and byte for byte. On a terminal each
ends with a newline. With --json each is a line with value, version, flags and
remaining time to live.`,
		Example: `  remora get greeting
  remora get picture > picture.png
  remora get --json greeting farewell`,
		Args: keysOnly,
		RunE: func(cmd *cobra.Command, keys []string) error {
			return o.with(cmd, func(ctx context.Context, c *remora.Client) error {
				return eachKey(keys, func(key string) error { return a.get(ctx, c, key) })
			})
		},
	}
	o.define(cmd)
	return cmd
}

// itemLine is an item as JSON. A value that is not text is in base64.
type itemLine struct {
	Key     string  `json:"key"`
	Value   *string `json:"value,omitempty"`
	Base64  []byte  `json:"value_base64,omitempty"`
	Version uint64  `json:"version"`
	Flags   uint32  `json:"flags,omitempty"`
	TTLMS   int64   `json:"ttl_ms,omitempty"`
}

// get prints one item.
func (a *app) get(ctx context.Context, c *remora.Client, key string) error {
	item, err := c.GetItem(ctx, key)
	if err != nil {
		return err
	}
	if a.json {
		return json.NewEncoder(a.out).Encode(newItemLine(key, &item))
	}
	value := item.Value
	if isTerminal(a.out) && !bytes.HasSuffix(value, []byte("\n")) {
		value = append(value, '\n')
	}
	_, err = a.out.Write(value)
	return err
}

func newItemLine(key string, item *remora.Item) itemLine {
	l := itemLine{Key: key, Version: item.Version, Flags: item.Flags, TTLMS: int64(item.TTL / time.Millisecond)}
	if text := string(item.Value); utf8.ValidString(text) {
		l.Value = &text
	} else {
		l.Base64 = item.Value
	}
	return l
}
