package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"
	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/internal/redis"
	"github.com/stdwire/stdwire/internal/redis/redistest"
)

// redisCommands are commands whose words are chosen from those between bars. KEY is one of the keys
// of a client, which no other client uses.
var redisCommands = strings.Split(`SET KEY TEXT
SET KEY TEXT NX|XX
SET KEY TEXT PX 100000
GET KEY
APPEND KEY TEXT
INCRBY KEY 1|-7|9223372036854775807
STRLEN KEY
DEL KEY
TYPE KEY
EXISTS KEY
MGET KEY KEY KEY
HSET KEY a|b TEXT
HINCRBY KEY a|n 5
HMGET KEY a|b c
HGETALL one:KEY
HSET one:KEY field TEXT
RPUSH KEY TEXT TEXT
LPOP KEY 1|2|0
LRANGE KEY 0 -1
SADD KEY a|b
SISMEMBER KEY a
ZADD KEY 1 a|b
ZRANGE KEY 0 -1
XADD KEY MAXLEN 5 * f TEXT
XLEN KEY
PERSIST KEY
PTTL missing
ECHO TEXT
NONSENSE TEXT
SET KEY
EVAL return|{1,{'a',{}},false,'b'} 0
EVAL return|redis.status_reply('FINE') 0
EVAL return|redis.error_reply('MINE|not|good') 0
EVAL return|{{1,{}},{},{redis.status_reply('x')}} 0
EVAL return|redis.call('get',KEYS[1]) 1 KEY
EVALSHA 0123456789012345678901234567890123456789 0`, "\n")

// randomCommand returns a command, with %s before each key of the client that gets it.
func randomCommand(random *rand.Rand) []string {
	const bytes = "\r\n\x00\xff%$*:0a"
	words := strings.Fields(redisCommands[random.IntN(len(redisCommands))])
	for i, word := range words {
		switch {
		case words[0] == "EVAL" && i == 1:
			words[i] = strings.ReplaceAll(word, "|", " ")
			continue
		case word == "TEXT":
			text := make([]byte, random.IntN(40)*random.IntN(40))
			for j := range text {
				text[j] = bytes[random.IntN(len(bytes))]
			}
			words[i] = string(text)
			continue
		}
		choices := strings.Split(word, "|")
		word = choices[random.IntN(len(choices))]
		if strings.Contains(word, "KEY") {
			word = "%s" + strings.ReplaceAll(word, "KEY", strconv.Itoa(random.IntN(4)))
		}
		words[i] = word
	}
	return words
}

// forClient returns a command with the keys of a client.
func forClient(command []string, client string) []string {
	var words []string
	for _, word := range command {
		if key, ok := strings.CutPrefix(word, "%s"); ok {
			word = client + key
		}
		words = append(words, word)
	}
	return words
}

// ownReply returns a reply as text.
func ownReply(r redis.Reply, err error) string {
	if e, ok := errors.AsType[redis.Error](err); ok {
		return "error " + string(e)
	}
	if err = cmp.Or(err, r.Err()); err != nil {
		return "error " + err.Error()
	}
	if r.IsNull() {
		return "null"
	}
	if n, err := r.Int(); err == nil {
		return strconv.FormatInt(n, 10)
	}
	if text, err := r.Bytes(); err == nil {
		return strconv.Quote(string(text))
	}
	items, err := r.Items()
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, item := range items {
		all = append(all, ownReply(item, nil))
	}
	return fmt.Sprint(all)
}

// peerReply returns what go-redis makes of a reply as text.
func peerReply(r any, err error) string {
	if r == nil && (err == nil || errors.Is(err, goredis.Nil)) {
		return "null"
	}
	if err != nil {
		return "error " + err.Error()
	}
	switch r := r.(type) {
	case error:
		return "error " + r.Error()
	case int64:
		return strconv.FormatInt(r, 10)
	case string:
		return strconv.Quote(r)
	case []any:
		var all []string
		for _, item := range r {
			all = append(all, peerReply(item, nil))
		}
		return fmt.Sprint(all)
	case map[any]any: // of one member at most: the order is lost
		var all []string
		for key, value := range r {
			all = append(all, peerReply(key, nil), peerReply(value, nil))
		}
		return fmt.Sprint(all)
	}
	return fmt.Sprintf("%T", r)
}

// redisClients returns both clients of a server.
func redisClients(t *testing.T) (own *redis.Client, peer *goredis.Client) {
	server := redistest.Start(t)
	own = server.Client()
	redistest.Available(t, own)
	peer = goredis.NewClient(&goredis.Options{Network: "unix", Addr: server.Options.Address,
		Protocol: 3})
	t.Cleanup(func() { _ = peer.Close() })
	return own, peer
}

// The client of stdwire takes what a server replies to random commands for the same as go-redis
// does.
func TestRedisReplies(t *testing.T) {
	own, peer := redisClients(t)
	random := rand.New(rand.NewPCG(1, 2))
	kinds := map[string]int{}
	for range 3000 {
		command := randomCommand(random)
		var words []any
		for _, word := range forClient(command, "peer") {
			words = append(words, word)
		}
		want := peerReply(peer.Do(context.Background(), words...).Result())
		got := ownReply(own.Do(context.Background(), forClient(command, "own")...))
		if command[0] == "XADD" && !strings.HasPrefix(want, "error") { // the id is a time
			assert.Assert(t, strings.HasPrefix(got, `"`), "%q: %s", command, got)
			continue
		}
		assert.Equal(t, got, want, "%q", command)
		kinds[got[:1]]++
	}
	for _, kind := range []string{"e", "n", `"`, "[", "1"} {
		assert.Assert(t, kinds[kind] > 50, "%d replies begin with %s", kinds[kind], kind)
	}
}

// Both clients get the messages of a channel, in the same order.
func TestRedisMessages(t *testing.T) {
	own, peer := redisClients(t)
	channel := "a \r\n channel"
	mine, err := own.Subscribe(t.Context(), channel)
	assert.NilError(t, err)
	defer mine.Close()
	theirs := peer.Subscribe(t.Context(), channel)
	defer theirs.Close()
	_, err = theirs.Receive(t.Context())
	assert.NilError(t, err)
	for i := range 200 {
		text := strings.Repeat("\r\n", i) + strconv.Itoa(i)
		_, err := own.Do(t.Context(), "PUBLISH", channel, text)
		assert.NilError(t, err)
		got, err := mine.Next(t.Context())
		assert.NilError(t, err)
		want, err := theirs.ReceiveMessage(t.Context())
		assert.NilError(t, err)
		assert.Equal(t, string(got.Payload), text)
		assert.Equal(t, want.Payload, text)
	}
}
