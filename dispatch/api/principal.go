package api

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/contain"
)

// authenticate sets the principal, or returns why the request is refused.
func (x *exchange) authenticate() (refused *refusal) {
	if x.o.Principal == nil {
		return nil
	}
	failure := contain.Call(func() {
		var err error
		if x.principal, err = x.o.Principal(x.r); err != nil {
			refused = x.principalRefusal(err)
		}
	})
	if failure != nil {
		x.report(slog.LevelError, "the principal function panicked",
			slog.String("panic", failure.String()), slog.String("stack", string(failure.Stack)))
		return principalFailed()
	}
	if refused == nil {
		return nil
	}
	if refused.status == http.StatusUnauthorized {
		refused.with("WWW-Authenticate", "Bearer") // RFC 9110, section 15.5.2
	}
	return refused
}

// principalRefusal returns the refusal for an error of the principal function.
func (x *exchange) principalRefusal(err error) *refusal {
	shown, ok := errors.AsType[*dispatch.Error](err)
	if !ok {
		code, ok := errors.AsType[dispatch.Code](err)
		if !ok {
			x.unknowns.Log(func(message string, args ...any) {
				// a group without a name is inlined
				x.report(slog.LevelWarn, message, slog.Group("", args...))
			}, x.r.RemoteAddr, "the caller is not known", slog.Any("error", err))
			return refuse(http.StatusUnauthorized, dispatch.PermissionDenied,
				"the caller is not known; send valid credentials")
		}
		info, _ := x.catalog.CodeInfo(code)
		shown = dispatch.Errorf(code, "%s", info.Summary).WithRecoverable(info.Recoverable)
	}
	info, ok := x.catalog.CodeInfo(shown.Code)
	if !ok {
		x.report(slog.LevelError,
			"the principal function returned a code that the catalog does not have",
			slog.String("code", string(shown.Code)), slog.Any("error", err))
		return principalFailed()
	}
	return &refusal{status: info.HTTPStatus, err: shown}
}

// principalFailed returns the refusal if the principal function does not work.
func principalFailed() *refusal {
	return refuse(http.StatusInternalServerError, dispatch.InternalError,
		"the caller could not be authenticated; the log has the cause")
}

func (x *exchange) report(level slog.Level, message string, attrs ...slog.Attr) {
	x.log.LogAttrs(x.r.Context(), level, message,
		append(attrs, slog.String("surface", surface), slog.String("request", x.id))...)
}
