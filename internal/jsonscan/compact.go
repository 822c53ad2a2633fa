package jsonscan

// AppendCompact appends one JSON value to dst without the white space between its tokens. If data
// is not valid, it returns dst and the error of [Valid].
func AppendCompact(dst, data []byte) ([]byte, error) {
	if err := Valid(data); err != nil {
		return dst, err
	}
	start := 0 // of the bytes to append next
	for i := 0; i < len(data); {
		switch data[i] {
		case '"':
			i = skipString(data, i)
		case ' ', '\t', '\r', '\n':
			dst = append(dst, data[start:i]...)
			i = Space(data, i)
			start = i
		default:
			i++
		}
	}
	return append(dst, data[start:]...), nil
}
