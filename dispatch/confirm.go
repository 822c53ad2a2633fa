package dispatch

import "context"

// Confirm is for an operation that cannot be undone for some arguments only, for example if a file
// exists already. Such an operation declares [ConfirmationRequired] and calls Confirm before it
// changes anything:
//
//	if exists {
//		if err := dispatch.Confirm(ctx, "This replaces %q.", name); err != nil {
//			return out, err
//		}
//	}
//
// The error is nil if the call was confirmed, and outside of a call, where the program itself has
// decided. Otherwise it is a [ConfirmationRequired] with that message; the surface shows it to a
// person and calls again. An operation whose every call cannot be undone sets [Spec.Destructive]
// instead.
func Confirm(ctx context.Context, format string, args ...any) error {
	if call := CallFrom(ctx); call == nil || call.Confirmed {
		return nil
	}
	return Errorf(ConfirmationRequired, format, args...)
}
