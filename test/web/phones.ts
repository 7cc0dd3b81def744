import type { Page } from 'playwright-core'

export const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }

/** The narrowest phone, and a page at a zoom of 400 %. */
export const narrowest = { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true }

/** Returns a function that moves a finger on the screen. Playwright itself can only tap. */
export async function fingerOn(page: Page) {
  const devtools = await page.context().newCDPSession(page)
  return (type: 'touchStart' | 'touchMove' | 'touchEnd', ...touchPoints: { x: number; y: number }[]) =>
    devtools.send('Input.dispatchTouchEvent', { type, touchPoints })
}
