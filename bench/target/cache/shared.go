package cache

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
	"github.com/redis/go-redis/v9"

	"github.com/remora-kv/remora/bench/target"
)

// sharedClient is a client of memcached or Redis that Go programs use, shared by
// goroutines.
type sharedClient interface {
	client
	io.Closer
}

// The clients, as rows name them.
const (
	clientSession  = "session"
	clientRemora   = "client"
	clientPipeline = "pipeline"
	clientNull     = "null"
	clientGoMem    = "gomemcache"
	clientGoRedis  = "go-redis"
)

// sharedTimeout is how long an operation may take: what is slow is to be measured,
// and not to fail.
const sharedTimeout = 30 * time.Second

func newSharedClient(s *target.Foreign, c *Case) sharedClient {
	if c.Path == PathRedis {
		return goRedis{redis.NewClient(&redis.Options{
			Network: s.Network, Addr: s.Address, Protocol: 2, DisableIdentity: true,
			DialTimeout: sharedTimeout, ReadTimeout: sharedTimeout, WriteTimeout: sharedTimeout, PoolTimeout: sharedTimeout,
		})}
	}
	m := memcache.New(s.Address)
	// Its documentation asks for more than there are requests at the same time.
	m.MaxIdleConns, m.Timeout = c.Goroutines+1, sharedTimeout
	return goMemcache{m}
}

// sharedName is the name of the one for a case.
func sharedName(c *Case) string {
	if c.Path == PathRedis {
		return clientGoRedis
	}
	return clientGoMem
}

// goMemcache is gomemcache.
type goMemcache struct{ *memcache.Client }

func (c goMemcache) get(_ context.Context, key, _ []byte) ([]byte, error) {
	item, err := c.Get(string(key))
	switch {
	case err == nil:
		return item.Value, nil
	case errors.Is(err, memcache.ErrCacheMiss):
		return nil, errMiss
	}
	return nil, err
}

func (c goMemcache) set(_ context.Context, key, value []byte) error {
	return c.Set(&memcache.Item{Key: string(key), Value: value})
}

func (goMemcache) fatal(err error) bool { return isNetwork(err) }

// goRedis is go-redis.
type goRedis struct{ *redis.Client }

func (c goRedis) get(ctx context.Context, key, _ []byte) ([]byte, error) {
	value, err := c.Get(ctx, string(key)).Bytes()
	if err != nil && errors.Is(err, redis.Nil) {
		return nil, errMiss
	}
	return value, err
}

func (c goRedis) set(ctx context.Context, key, value []byte) error {
	return c.Set(ctx, string(key), value, 0).Err()
}

func (goRedis) fatal(err error) bool { return isNetwork(err) || errors.Is(err, context.Canceled) }

// isNetwork reports whether an error is that of a connection, and not the word of
// a server.
func isNetwork(err error) bool {
	var op net.Error
	return errors.As(err, &op)
}
