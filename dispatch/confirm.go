package dispatch

import "context"

// Confirm is for an operation whose calls take something away for good only at times, say if a file
// is there already: it declares [ConfirmationRequired], looks, and asks before it changes anything.
//
//	if exists {
//		if err := dispatch.Confirm(ctx, "This replaces %q.", name); err != nil {
//			return out, err
//		}
//	}
//
// The error is nil if the call was confirmed, and outside of a call, where the program itself has
// decided. Otherwise it is a [ConfirmationRequired] with that message; the surface then shows it to
// whoever can say yes, and calls again. An operation whose every call has to be confirmed needs
// none of this: see [Spec.Destructive].
func Confirm(ctx context.Context, format string, args ...any) error {
	if call := CallFrom(ctx); call == nil || call.Confirmed {
		return nil
	}
	return Errorf(ConfirmationRequired, format, args...)
}
