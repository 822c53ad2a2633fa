package printable

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// lookalikes maps letters to the ASCII letters that they look like.
var lookalikes = sync.OnceValue(func() map[rune]rune {
	m := map[rune]rune{}
	for latin, others := range map[rune]string{
		'a': "аɑα", 'b': "Ьƅ", 'c': "сϲᴄ", 'd': "ԁɗ", 'e': "еҽє", 'g': "ɡց", 'h': "һհ", 'i': "іıɩι",
		'j': "јϳ", 'k': "κкᴋ\u212a", 'l': "ӏⅼ", 'm': "мᴍ", 'n': "ո", 'o': "оοօᴏ", 'p': "рρ",
		'q': "ԛզ", 'r': "ᴦ", 's': "ѕꜱſ", 't': "тτᴛ", 'u': "υսᴜ", 'v': "ѵνᴠ", 'w': "ԝѡᴡ", 'x': "хχ",
		'y': "уүγ", 'z': "ᴢ",
		'A': "АΑᎪ", 'B': "ВΒᏴ", 'C': "СϹᏟ", 'D': "Ꭰ", 'E': "ЕΕᎬ", 'F': "Ϝ", 'G': "ԌᏀ", 'H': "НΗᎻ",
		'I': "ІΙӀ", 'J': "ЈᎫ", 'K': "КΚᏦ", 'L': "Ꮮ", 'M': "МΜᎷ", 'N': "Ν", 'O': "ОΟՕ", 'P': "РΡᏢ",
		'R': "Ꭱ", 'S': "ЅՏᏚ", 'T': "ТΤᎢ", 'U': "Ս", 'V': "ѴᏙ", 'W': "ԜᎳ", 'X': "ХΧ", 'Y': "ΥҮ",
		'Z': "ΖᏃ",
	} {
		for _, r := range others {
			m[r] = latin
		}
	}
	return m
})

// ToLatin returns the ASCII character that r looks like, or r.
func ToLatin(r rune) rune {
	switch {
	case r < utf8.RuneSelf:
		return r
	case 0xff01 <= r && r <= 0xff5e: // full width
		return r - 0xfee0
	case 0x1d400 <= r && r <= 0x1d6a3: // mathematical alphabets
		if r = (r - 0x1d400) % 52; r < 26 {
			return 'A' + r
		}
		return 'a' + r - 26
	case 0x1d7ce <= r && r <= 0x1d7ff: // mathematical digits
		return '0' + (r-0x1d7ce)%10
	case 0x24b6 <= r && r <= 0x24e9: // circled letters
		if r -= 0x24b6; r < 26 {
			return 'A' + r
		}
		return 'a' + r - 26
	case r == '’' || r == 'ʼ':
		return '\''
	}
	if l, ok := lookalikes()[r]; ok {
		return l
	}
	return r
}

// LooksLatin reports whether a word, in whole or part, looks like ASCII letters but is not.
func LooksLatin(word string) bool {
	ascii, lookalike, other := 0, 0, 0
	for _, r := range word {
		switch l := ToLatin(r); {
		case r < utf8.RuneSelf:
			ascii++
		case l < utf8.RuneSelf:
			lookalike++
		case !unicode.Is(unicode.Latin, r):
			other++
		}
	}
	return lookalike > 0 && ascii+lookalike > 1 && (other == 0 || ascii > 0)
}

// IsSelector reports whether a character selects a variation of the one before it.
func IsSelector(r rune) bool {
	return 0xfe00 <= r && r <= 0xfe0f || 0xe0100 <= r && r <= 0xe01ef ||
		0x180b <= r && r <= 0x180d || r == 0x180f
}

// IsBlank reports whether a letter or mark looks blank.
func IsBlank(r rune) bool {
	return r == 0x115f || r == 0x1160 || r == 0x3164 || r == 0xffa0 || r == 0x2800 || r == 0x17b4 ||
		r == 0x17b5
}
