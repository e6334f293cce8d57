import type { ComponentChildren } from 'preact'

export type BadgeTone = 'neutral' | 'good' | 'warning' | 'bad'

export const Badge = ({ tone = 'neutral', children }: { tone?: BadgeTone; children: ComponentChildren }) => (
  <span class={`badge ${tone}`}>{children}</span>
)
