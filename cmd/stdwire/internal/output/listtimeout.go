package output

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"time"

	"github.com/stdwire/stdwire/client"
	"github.com/stdwire/stdwire/cmd/stdwire/internal/command"
)

// ListTimeoutFlag is the flag --timeout of commands that list what a server has.
func ListTimeoutFlag(target *time.Duration) command.Flag {
	*target = 30 * time.Second
	return command.DurationFlag(target, "--timeout", "how long the server may take for each list")
}

// ListTimeout returns the failure for a list that was not complete in time. what is its method or
// name.
func ListTimeout(what string, timeout time.Duration) *command.Failure {
	return &command.Failure{Code: "call_timeout", What: what,
		Why:  "the list was not complete after " + command.ShortDuration(timeout),
		Hint: "it may need longer: --timeout 5m"}
}

// WithTimeout returns the list with a time limit for all pages together. A negative timeout is
// no limit; with 0, each page has the time limit of a call.
func (l List) WithTimeout(timeout time.Duration) List {
	if timeout == 0 {
		return l
	}
	pages, items := l.Pages, l.Items
	noLimit := client.Timeout(-1) // of a page, because the whole list has a limit
	l.Pages = func(ctx context.Context, c *client.Client,
		options ...client.CallOption) iter.Seq2[json.RawMessage, error] {
		return WithTimeout(ctx, l.Kind.Info().ListMethod, timeout,
			func(ctx context.Context) iter.Seq2[json.RawMessage, error] {
				return pages(ctx, c, append(options, noLimit)...)
			})
	}
	l.Items = func(ctx context.Context, c *client.Client,
		options ...client.CallOption) iter.Seq2[item, error] {
		return WithTimeout(ctx, l.Kind.Info().ListMethod, timeout,
			func(ctx context.Context) iter.Seq2[item, error] {
				return items(ctx, c, append(options, noLimit)...)
			})
	}
	return l
}

// WithTimeout collects a list within a time limit and then yields it, so that the time of the
// caller does not count.
func WithTimeout[T any](ctx context.Context, method string, timeout time.Duration,
	list func(context.Context) iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		limited, cancel := ctx, context.CancelFunc(func() {})
		if timeout > 0 {
			limited, cancel = context.WithTimeout(ctx, timeout)
		}
		var all []T
		var failed error
		for each, err := range list(limited) {
			if failed = err; err != nil {
				break
			}
			all = append(all, each)
		}
		if errors.Is(failed, context.DeadlineExceeded) && ctx.Err() == nil {
			failed = ListTimeout(method, timeout)
		}
		cancel()
		for _, each := range all {
			if !yield(each, nil) {
				return
			}
		}
		if failed != nil {
			var none T
			yield(none, failed)
		}
	}
}
