/** Prints the last line of a run: results file, number of failed steps before, exit code of the tests. */
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { notRun } from '../test/src/not-run.ts'

interface Results {
  numPassedTests: number
  numFailedTests: number
  numPendingTests: number
  testResults: {
    name: string
    status: string
    message: string
    assertionResults: { status: string; title: string }[]
  }[]
}

const [file, failedSteps, testsExit] = process.argv.slice(2)
const results = readResults(file!)

// A file that fails before its first test has no test that could count.
const failedFiles = results.testResults.filter(
  ({ status, assertionResults }) => status === 'failed' && !assertionResults.some((test) => test.status === 'failed'),
)
const counted = results.numFailedTests + failedFiles.length
// Errors outside of any test fail the run too.
const unaccounted = testsExit !== '0' && counted === 0 ? 1 : 0
const failed = counted + unaccounted + Number(failedSteps)

for (const { name, assertionResults } of results.testResults) {
  if (assertionResults.some(({ title }) => title === notRun)) process.stdout.write(`${relative('.', name)} ${notRun}\n`)
}
for (const { name, message } of failedFiles) process.stdout.write(`failed before its first test: ${name} ${message}\n`)
if (unaccounted) process.stdout.write(`the tests ended with exit code ${testsExit}\n`)
if (failedSteps !== '0') process.stdout.write('npm run check failed, see above\n')
process.stdout.write(`${results.numPendingTests} skipped\n`)
process.stdout.write(`${results.numPassedTests} passed, ${failed} failed\n`)
process.exitCode = failed === 0 && results.numPassedTests > 0 ? 0 : 1

function readResults(path: string): Results {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return { numPassedTests: 0, numFailedTests: 0, numPendingTests: 0, testResults: [] }
  }
}
