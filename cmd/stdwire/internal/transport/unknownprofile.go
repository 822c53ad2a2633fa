package transport

import (
	"net/http"

	"github.com/stdwire/stdwire/server/streamable"
)

// unknownProfile returns the options of the endpoint for profiles that do not exist. It authorizes
// requests as the other endpoints do, so that only authorized callers learn which profiles exist.
func unknownProfile(o streamable.Options) streamable.Options {
	none := &streamable.Refusal{Status: http.StatusNotFound,
		Message: "the profile does not exist: all servers are at " + mainPath}
	authorize, principal := o.Authorize, o.Principal
	o.Store = nil
	o.Authorize = func(r *http.Request) (c streamable.Caller, err error) {
		switch {
		case authorize != nil:
			c, err = authorize(r)
		case principal != nil:
			_, err = principal(r)
		}
		if err == nil && c.AuthorizeMessages != nil {
			err = c.AuthorizeMessages(nil)
		}
		if err != nil {
			return c, err
		}
		return c, none
	}
	return o
}
