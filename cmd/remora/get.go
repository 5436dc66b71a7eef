package main

import (
	"context"
	"encoding/json"
	"errors"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/remora-kv/remora"
)

func newGetCmd(a *app) *cobra.Command {
	o := &clientOptions{}
	cmd := &cobra.Command{
		Use:   "get KEY",
		Short: "Print the value of a key",
		Long: `Print the value of a key, byte for byte; on a terminal a line ends after it.
With --json there can be several keys, and each is a line with its value, version,
flags and what is left of its time to live.
` + clientExitCodes,
		Example: `  remora get greeting
  remora get picture > picture.png
  remora get --json greeting farewell`,
		Args: keysOnly,
		RunE: func(cmd *cobra.Command, keys []string) error {
			if len(keys) > 1 && !a.json {
				return misuse("several keys need --json, so that their values can be told apart")
			}
			return o.with(cmd, func(ctx context.Context, c *remora.Client) error {
				var missing error
				for _, key := range keys {
					err := a.get(ctx, c, key)
					if !errors.Is(err, remora.ErrNotFound) && err != nil {
						return err
					}
					missing = errors.Join(missing, err)
				}
				return missing
			})
		},
	}
	o.define(cmd.Flags())
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
	if n := len(value); a.onTerminal() && n != 0 && value[n-1] != '\n' {
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
