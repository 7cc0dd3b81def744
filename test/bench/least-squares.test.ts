import { describe, expect, it } from 'vitest'
import { fitCosts } from './least-squares.ts'

describe('fitCosts', () => {
  it('finds the costs that explain all totals', () => {
    const causes = [
      [1, 10, 0],
      [1, 0, 20],
      [1, 10, 20],
      [1, 5, 5],
    ]
    const totals = causes.map(([base, one, other]) => 7 * base! + 3 * one! + 0.5 * other!)
    const costs = fitCosts(causes, totals)
    expect(costs.map((cost) => Number(cost.toFixed(6)))).toEqual([7, 3, 0.5])
  })

  it('finds no cost below 0', () => {
    const causes = [
      [1, 0],
      [1, 10],
    ]
    expect(fitCosts(causes, [5, 4])).toEqual([4.5, 0])
  })

  it('finds no cost of what never happened', () => {
    const causes = [
      [1, 0],
      [2, 0],
    ]
    expect(fitCosts(causes, [4, 8])).toEqual([4, 0])
  })
})
