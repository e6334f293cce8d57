import type { Page } from './frame.ts'
import type { Html } from './html.ts'
import { html } from './html.ts'

export const errorPage = (message: string, advice?: Html): Page => ({
  title: 'This did not work',
  body: html`<p role="alert">${message}</p>${advice}`,
})
