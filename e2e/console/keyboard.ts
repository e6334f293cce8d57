// Use of a page by the keyboard only.
import assert from 'node:assert/strict'
import type { Locator, Page } from 'playwright-core'

export type Keyboard = {
  /** Waits until an element has the focus. */
  focused(what: Locator): Promise<void>
  /** Presses a key until the element with this name has the focus, with a visible focus ring. */
  pressUntil(key: string, name: string): Promise<void>
  /** Moves the focus backwards to a link, follows it, and waits for the heading of that name. */
  followLinkAbove(name: string): Promise<void>
  /** Opens the menu of a row or of an item of the tree, and chooses an entry. */
  chooseInMenu(of: string, entry: string): Promise<void>
  /** Opens the palette, and chooses the first entry for a text. */
  chooseInPalette(text: string): Promise<void>
}

export function keyboardOf(page: Page): Keyboard {
  const focused = (what: Locator) => what.and(page.locator(':focus')).waitFor()

  async function pressUntil(key: string, name: string): Promise<void> {
    for (let count = 0; count < 60 && (await page.evaluate(nameOfFocused)) !== name; count++)
      await page.keyboard.press(key)
    assert.equal(await page.evaluate(nameOfFocused), name, `${key} does not lead to ${name}`)
    assert.ok(await page.evaluate(isFocusShown), `the focus of ${name} is not visible`)
  }

  async function followLinkAbove(name: string): Promise<void> {
    await pressUntil('Shift+Tab', name)
    await page.keyboard.press('Enter')
    await focused(page.getByRole('heading', { level: 1, name, exact: true }))
  }

  async function chooseInMenu(of: string, entry: string): Promise<void> {
    await pressUntil('Tab', `Actions for ${of}`)
    await page.keyboard.press('Enter')
    await page.getByRole('menuitem', { name: entry }).waitFor()
    await pressUntil('ArrowDown', entry)
    await page.keyboard.press('Enter')
  }

  async function chooseInPalette(text: string): Promise<void> {
    await page.keyboard.press('Control+k')
    await focused(page.getByRole('combobox', { name: 'Search or go to' }))
    await page.keyboard.type(text)
    await page.keyboard.press('Enter')
  }

  return { focused, pressUntil, followLinkAbove, chooseInMenu, chooseInPalette }
}

const nameOfFocused = `(() => {
  const element = document.activeElement
  const label = document.getElementById(element.getAttribute('aria-labelledby')) ?? element.labels?.[0] ?? element
  return element.ariaLabel || label.textContent
})()`

/** The focus ring of a tree item is drawn around its row, not around the items below it. */
const isFocusShown = `(() => {
  const element = document.activeElement
  const { outlineStyle, boxShadow } = getComputedStyle(element.querySelector(':scope > .tree-row') ?? element)
  return element.matches(':focus-visible') && (outlineStyle !== 'none' || boxShadow !== 'none')
})()`
