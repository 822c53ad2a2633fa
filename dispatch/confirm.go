package dispatch

import "context"

// Confirm returns an error unless the call was confirmed. It is for an operation of which only some
// calls cannot be undone, such as those that replace a file. The operation declares
// [ConfirmationRequired] and calls Confirm before it changes anything:
//
//	if exists {
//		if err := dispatch.Confirm(ctx, "This replaces %q.", name); err != nil {
//			return out, err
//		}
//	}
//
// Outside of a call the error is nil, because the program itself has decided. Otherwise it is a
// [ConfirmationRequired] with the message; the surface shows it to a person and calls again. An
// operation of which no call can be undone sets [Spec.Destructive] instead.
func Confirm(ctx context.Context, format string, args ...any) error {
	if call := CallFrom(ctx); call == nil || call.Confirmed {
		return nil
	}
	return Errorf(ConfirmationRequired, format, args...)
}
