// A small nursery: what a call leaves behind dies young anyway, and the server stays under 150 MB.
export const nodeFlags = ['--max-semi-space-size=8']
