// Light or dark, as the system says unless the person has chosen.
import { signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'

const key = 'stemma-theme'
const stored = localStorage.getItem(key)

export const theme = signal<Theme>(stored === 'light' || stored === 'dark' ? stored : 'system')

export function chooseTheme(next: Theme): void {
  theme.value = next
  if (next === 'system') localStorage.removeItem(key)
  else localStorage.setItem(key, next)
  applyTheme()
}

export function applyTheme(): void {
  const { dataset } = document.documentElement
  if (theme.value === 'system') delete dataset.theme
  else dataset.theme = theme.value
}
