import { readdirSync } from 'node:fs'
import path from 'node:path'

/** A browser with one window, controlled through WebDriver. The signatures are the same for both versions of the protocol. */
export interface DrivenBrowser {
  /** Opens an address, and resolves when it is loaded. */
  open(address: string): Promise<void>
  /** Goes back to the previous address. */
  back(): Promise<void>
  /** Runs a function in the page. Its arguments and its result must be JSON. */
  run<Args extends unknown[], Result>(script: (...args: Args) => Result, ...args: Args): Promise<Awaited<Result>>
  /** Performs the actions of a keyboard or pointer: https://www.w3.org/TR/webdriver2/#actions */
  perform(source: object): Promise<void>
  /** Chooses a file in the first file field that matches. */
  chooseFile(selector: string, file: string): Promise<void>
  close(): Promise<void>
}

/** Finds a program on the PATH. */
export function findProgram(...names: string[]): string | undefined {
  for (const folder of (process.env.PATH ?? '').split(path.delimiter)) {
    try {
      const found = names.find((name) => readdirSync(folder).includes(name))
      if (found) return path.join(folder, found)
    } catch {
      // The PATH may name a folder that does not exist.
    }
  }
  return undefined
}

/** The characters of WebDriver for keys without a character. */
export const keys = { enter: '\uE007', shift: '\uE008', escape: '\uE00C', arrowUp: '\uE013' } as const

/** Types a text into the element that has the focus. */
export const type = (browser: DrivenBrowser, text: string) =>
  browser.perform({
    type: 'key',
    id: 'keyboard',
    actions: [...text].flatMap((value) => [
      { type: 'keyDown', value },
      { type: 'keyUp', value },
    ]),
  })

/** Presses keys together. */
export const press = (browser: DrivenBrowser, ...together: string[]) =>
  browser.perform({
    type: 'key',
    id: 'keyboard',
    actions: [
      ...together.map((value) => ({ type: 'keyDown', value })),
      ...together.toReversed().map((value) => ({ type: 'keyUp', value })),
    ],
  })

/** Moves the pointer to the last visible element that matches, and whose name or text contains `text`. Waits until there is one. */
export async function point(browser: DrivenBrowser, selector: string, text = '', ...more: object[]) {
  const { x, y } = await browser.run(findElement, selector, text)
  const move = { type: 'pointerMove', x, y, duration: 0, origin: 'viewport' }
  await browser.perform({
    type: 'pointer',
    id: 'mouse',
    parameters: { pointerType: 'mouse' },
    actions: [move, ...more],
  })
}

export const click = (browser: DrivenBrowser, selector: string, text = '') =>
  point(browser, selector, text, { type: 'pointerDown', button: 0 }, { type: 'pointerUp', button: 0 })

/** Waits until an element is visible that matches, and whose name or text contains `text`. */
export const see = (browser: DrivenBrowser, selector: string, text = '') => browser.run(findElement, selector, text)

/** It runs in the page. Returns the centre of the element in the viewport. */
async function findElement(selector: string, text: string): Promise<{ x: number; y: number }> {
  for (const end = Date.now() + 20_000; Date.now() < end; ) {
    const found = [...document.querySelectorAll<HTMLElement>(selector)].findLast((element) => {
      const { width, height } = element.getBoundingClientRect()
      return width > 0 && height > 0 && `${element.ariaLabel ?? ''} ${element.innerText}`.includes(text)
    })
    if (found) {
      found.scrollIntoView({ block: 'nearest' })
      const { left, top, width, height } = found.getBoundingClientRect()
      return { x: Math.round(left + width / 2), y: Math.round(top + height / 2) }
    }
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`There is no ${selector} with "${text}" in:\n${document.body.innerText.slice(0, 2_000)}`)
}
