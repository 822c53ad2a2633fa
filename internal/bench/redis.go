package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/stdwire/stdwire/internal/rate"
	"github.com/stdwire/stdwire/internal/redis"
	"github.com/stdwire/stdwire/internal/store"
)

// A redisOperation is one command, by each client.
type redisOperation struct {
	name string
	own  func(ctx context.Context, c ownRedis) error
	peer func(ctx context.Context, c *goredis.Client) error
}

// An ownRedis is the client of stdwire, and the store on it.
type ownRedis struct {
	*redis.Client
	store *store.Redis
}

const kilobyte = 1 << 10

var redisOperations = []redisOperation{
	{"GET 1 KiB",
		func(ctx context.Context, c ownRedis) error {
			reply, err := c.DoIdempotent(ctx, "GET", "key")
			if err != nil {
				return err
			}
			value, err := reply.Bytes()
			return checkLength(value, err)
		},
		func(ctx context.Context, c *goredis.Client) error {
			return checkLength(c.Get(ctx, "key").Bytes())
		}},
	{"SET 1 KiB, expiring",
		func(ctx context.Context, c ownRedis) error {
			_, err := c.Do(ctx, "SET", "other", redisValue, "PX", "60000")
			return err
		},
		func(ctx context.Context, c *goredis.Client) error {
			return c.Set(ctx, "other", redisValue, time.Minute).Err()
		}},
	{"a script of one key",
		func(ctx context.Context, c ownRedis) error {
			_, err := c.Run(ctx, ownScript, []string{"counter"}, "1")
			return err
		},
		func(ctx context.Context, c *goredis.Client) error {
			return goScript.Run(ctx, c, []string{"counter"}, "1").Err()
		}},
	{"a charge of a rate (GCRA)", // stdwire's can charge several, and finds their keys by a MAC
		func(ctx context.Context, c ownRedis) error {
			refused, wait, err := c.store.Charge(ctx, "bench",
				[]rate.Charge{{Key: []byte("ann"), Limit: redisRate, Cost: 1}})
			if err == nil && wait > 0 {
				err = fmt.Errorf("charge %d is refused for %v", refused, wait)
			}
			return err
		},
		func(ctx context.Context, c *goredis.Client) error {
			allowed, err := goRate.Run(ctx, c, []string{"rate"}, "1", "1000000").Int()
			if err == nil && allowed != 1 {
				err = errors.New("the charge is refused")
			}
			return err
		}},
}

// goRateScript charges one bucket of an interval and a burst by the clock of the server.
const goRateScript = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local full = math.max(tonumber(redis.call('GET', KEYS[1]) or 0), now) + interval
if full - now > interval * burst then return 0 end
redis.call('SET', KEYS[1], string.format('%.0f', full), 'PX', math.ceil((full - now) / 1000))
return 1`

const redisScript = "return redis.call('INCRBY', KEYS[1], ARGV[1])"

var (
	redisValue = strings.Repeat("a", kilobyte)
	ownScript  = redis.NewScript(redisScript)
	goScript   = goredis.NewScript(redisScript)
	goRate     = goredis.NewScript(goRateScript)
	// a million a second, so that none is refused
	redisRate, _ = rate.Per(1_000_000, time.Second, 1_000_000)
)

func checkLength(value []byte, err error) error {
	if err == nil && len(value) != kilobyte {
		err = errors.New("the value is wrong")
	}
	return err
}

// redisSuite measures the clients of the Redis protocol with one server, on a Unix socket.
func redisSuite(o options) (all []measure, err error) {
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("the suite redis needs redis-server: %w", err)
	}
	dir, err := os.MkdirTemp("", "redis")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	socket := filepath.Join(dir, "s")
	server := exec.Command(binary, "--port", "0", "--unixsocket", socket, "--save", "", "--dir", dir)
	if err := server.Start(); err != nil {
		return nil, err
	}
	defer func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	own, err := redis.New(redis.Options{Network: "unix", Address: socket})
	if err != nil {
		return nil, err
	}
	defer own.Close()
	for _, err = own.Do(ctx, "SET", "key", redisValue); err != nil; {
		if ctx.Err() != nil {
			return nil, err
		}
		time.Sleep(10 * time.Millisecond)
		_, err = own.Do(ctx, "SET", "key", redisValue)
	}
	kept, err := store.NewRedis(own, "bench:", []byte("a secret of some length"))
	if err != nil {
		return nil, err
	}
	other := goredis.NewClient(&goredis.Options{Network: "unix", Addr: socket, PoolSize: 64})
	defer func() { err = errors.Join(err, other.Close()) }()
	background := context.Background()
	for _, operation := range redisOperations {
		for _, callers := range []int{1, 64} {
			for _, program := range []struct {
				name string
				call func() error
			}{
				{"stdwire", func() error { return operation.own(background, ownRedis{own, kept}) }},
				{"go-redis", func() error { return operation.peer(background, other) }},
			} {
				if !o.measures(program.name) {
					continue
				}
				m, err := benchmark(o.time, callers, program.call)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", program.name, err)
				}
				m.what = fmt.Sprintf("%s, %d callers", operation.name, callers)
				m.program = program.name
				all = append(all, m)
			}
		}
	}
	return all, nil
}
