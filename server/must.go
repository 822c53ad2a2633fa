package server

// Must panics with err if it is not nil. It is for the items that a program adds when it starts:
//
//	server.Must(s.AddPrompt(server.Prompt{Prompt: prompt, Get: get}))
func Must(err error) {
	if err != nil {
		panic(err)
	}
}
