// The colours of all pages: sign-in, reference, console, and the pages of the command line. The browser's setting chooses
// light or dark; the console lets people override it.
export const palette = `:root { color-scheme: light dark; --ink: light-dark(#1c1f23, #e9e7e2);
  --quiet: light-dark(#5b636d, #a7adb5); --paper: light-dark(#f4f3ef, #16181b); --card: light-dark(#fff, #1f2226);
  --line: light-dark(#8a929c, #6d757f); --leaf: light-dark(#1c6b48, #6fcf9f); --leaf-ink: light-dark(#fff, #0d2318);
  --alarm: light-dark(#a32020, #ff9d9d); --alarm-paper: light-dark(#fdeeee, #3a1d1d) }
`
