package api

import (
	"errors"
	"net/http"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/quota"
)

// owner returns the quota owner of the request.
func (x *exchange) owner() string {
	if x.principal == "" && x.o.Principal != nil {
		return quota.Anonymous
	}
	return x.principal
}

// busy returns the refusal for an error of a quota: the caller has used its share, or nothing is
// left for any caller.
func busy(err error, why string) *refusal {
	switch {
	case errors.Is(err, quota.ErrNever):
		return refuse(http.StatusRequestEntityTooLarge, dispatch.InvalidInput,
			"this takes more memory than one caller may have").
			with("Connection", "close")
	case errors.Is(err, quota.ErrShare):
		return refuse(http.StatusTooManyRequests, dispatch.StateError,
			"%s, and you have your share; try again in a moment", why).
			with("Retry-After", "1")
	}
	return refuse(http.StatusServiceUnavailable, dispatch.StateError, "%s; try again in a moment",
		why).with("Retry-After", "1")
}
