// The colours of all pages: sign-in, reference, and the pages of the command line. The browser's setting chooses light
// or dark.
export const palette = `:root { color-scheme: light dark; --ink: #1c1f23; --quiet: #5b636d; --paper: #f4f3ef; --card: #fff; --line: #8a929c;
  --leaf: #1c6b48; --leaf-ink: #fff; --alarm: #a32020; --alarm-paper: #fdeeee }
@media (prefers-color-scheme: dark) { :root { --ink: #e9e7e2; --quiet: #a7adb5; --paper: #16181b; --card: #1f2226;
  --line: #6d757f; --leaf: #6fcf9f; --leaf-ink: #0d2318; --alarm: #ff9d9d; --alarm-paper: #3a1d1d } }
`
