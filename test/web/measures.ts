import type { Locator } from 'playwright-core'

/** A property of the style that the browser has computed. */
export const styleOf = (element: Locator, property: 'fontSize' | 'direction') =>
  element.evaluate((node, name) => getComputedStyle(node)[name], property)

/** The heights of the visible elements. One that is only for screen readers has one pixel. */
export const heightsOf = (elements: Locator) =>
  elements.evaluateAll((nodes) =>
    nodes.map((node) => node.getBoundingClientRect().height).filter((height) => height > 1),
  )

/** The position of the lower end of an element, in pixels from the top of the viewport. */
export async function endOf(element: Locator): Promise<number> {
  const { y, height } = (await element.boundingBox())!
  return y + height
}
