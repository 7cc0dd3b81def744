import { describe, expect, test } from 'vitest'
import { isSvg } from './svg.ts'

const doctype =
  '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "svg11.dtd" [<!ENTITY ns "http://www.w3.org/2000/svg">]>'

describe('an SVG', () => {
  test.each([
    '<svg xmlns="http://www.w3.org/2000/svg"/>',
    `\ufeff<?xml version="1.0"?>\n<!-- a comment -->${doctype}<svg xmlns="&ns;"><g/></svg>`,
    '<s:svg xmlns:s="http://www.w3.org/2000/svg"></s:svg>',
    `<!--${'a long licence. '.repeat(2_000)}--><svg/>`,
  ])('may begin with %.60s', (text) => {
    expect(isSvg(Buffer.from(text))).toBe(true)
  })

  test.each(['<html><svg/></html>', 'text <svg/>', `<!--${'x'.repeat(100_000)}--><svg/>`])(
    'does not begin with %.60s',
    (text) => {
      expect(isSvg(Buffer.from(text))).toBe(false)
    },
  )

  // Each of these texts kept a parser busy, up to half a minute for long texts.
  test.each(['<!', '<!DOCTYPE svg [<!', '<?', '<a b="&'])('is not a text of megabytes after %s', (beginning) => {
    for (const unit of ['[', '<', 'a', '&', '"', '-']) {
      expect(isSvg(Buffer.from(beginning + unit.repeat(10_000_000)))).toBe(false)
    }
  })
})
