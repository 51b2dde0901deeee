// SPDX-License-Identifier: Apache-2.0
#include "output/metrics_table.hpp"

#include "support/catch.hpp"
#include "support/crc32c_by_bits.hpp"
#include "support/says.hpp"
#include "support/scratch_folder.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <limits>
#include <string>

using gmac::testing::contains;
using gmac::testing::crc32c_by_bits;
using gmac::testing::message_of;
using gmac::testing::scratch_folder;
using gmac::testing::slurp;
using gmac::testing::spit;
using namespace gmac::examples::train;

namespace {

double constexpr infinity = std::numeric_limits<double>::infinity();
double constexpr not_a_number = std::numeric_limits<double>::quiet_NaN();

metrics_row row(double update, double value) {
    return {{"update", update}, {"loss", value}};
}

void write_rows(std::filesystem::path const& path, int rows) {
    metrics_table table(path);
    for (int i = 1; i <= rows; ++i)
        table.append(row(i, 0.5 * i));
}

} // namespace

TEST_CASE("a metrics file has its header once and a row an update") {
    scratch_folder const folder;
    auto const path = folder / "metrics.csv";
    metrics_table table(path);
    CHECK(slurp(path).empty());
    table.append({{"update", 1}, {"frames", 512}, {"mean_return", not_a_number}, {"loss", 0.1}});
    CHECK(slurp(path) == "update,frames,mean_return,loss\n1,512,nan,0.1\n");
    table.append({{"update", 2}, {"frames", 12345678901}, {"mean_return", -infinity}, {"loss", 1.0 / 3.0}});
    table.append({{"update", 3}, {"frames", 3e5}, {"mean_return", -not_a_number}, {"loss", 1e-300}});
    table.sync();
    CHECK(slurp(path) ==
          "update,frames,mean_return,loss\n1,512,nan,0.1\n2,12345678901,-inf,0.3333333333333333\n"
          "3,300000,nan,1e-300\n");
    CHECK(table.rows() == 3);

    auto const back = read_csv(path);
    CHECK(back.columns == std::vector<std::string>{"update", "frames", "mean_return", "loss"});
    REQUIRE(back.rows() == 3);
    CHECK(back.column("frames") == std::vector<double>{512, 12345678901, 3e5});
    CHECK(back.column("loss") == std::vector<double>{0.1, 1.0 / 3.0, 1e-300});
    CHECK(std::isnan(back.column("mean_return")[0]));
    CHECK(back.column("mean_return")[1] == -infinity);
    CHECK(message_of([&] { (void)back.column("reward"); }) ==
          "there is no column reward, only update, frames, mean_return, loss");
}

TEST_CASE("a resumed metrics file loses what came after the checkpoint, and has no row twice") {
    scratch_folder const folder;
    auto const path = folder / "metrics.csv";
    write_rows(path, 5);
    {
        auto table = metrics_table::resume(path, 3);
        CHECK(table.rows() == 3);
        CHECK(slurp(path) == "update,loss\n1,0.5\n2,1\n3,1.5\n");
        table.append(row(4, 9));
    }
    CHECK(slurp(path) == "update,loss\n1,0.5\n2,1\n3,1.5\n4,9\n");
    CHECK(metrics_table::resume(path, 100).rows() == 4);
    CHECK(metrics_table::resume(path, 0).rows() == 0);
    CHECK(slurp(path) == "update,loss\n");
}

TEST_CASE("a metrics file cut at any byte is resumed with its whole rows") {
    scratch_folder const folder;
    auto const path = folder / "metrics.csv";
    write_rows(path, 4);
    auto const whole = slurp(path);
    for (std::size_t size = 0; size <= whole.size(); ++size) {
        auto const part = whole.substr(0, size);
        spit(path, part);
        auto table = metrics_table::resume(path, 3);
        table.append(row(7, 7));
        auto const lines = std::count(part.begin(), part.end(), '\n');
        auto const kept = lines == 0 ? 0 : (std::min)(lines - 1, std::ptrdiff_t(3));
        std::string expected = "update,loss\n";
        for (int i = 1; i <= kept; ++i)
            expected += fmt::format("{},{}\n", i, 0.5 * i);
        INFO("cut after " << size << " bytes");
        REQUIRE(slurp(path) == expected + "7,7\n");
    }
    spit(path, whole + std::string("5,\0\0\0", 5)); // as a crash of the machine may leave it
    CHECK(metrics_table::resume(path, 9).rows() == 4);
    CHECK(read_csv(path).rows() == 4);
    std::filesystem::remove(path);
    CHECK(metrics_table::resume(path, 9).rows() == 0);
}

TEST_CASE("rows and files that do not fit are refused") {
    scratch_folder const folder;
    auto const path = folder / "metrics.csv";
    write_rows(path, 1);
    auto table = metrics_table::resume(path, 1);
    CHECK(contains(message_of([&] {
                       table.append({{"update", 2}, {"reward", 1}});
                   }),
                   path.string() + ": the row has the columns update,reward, but the file has update,loss"));
    CHECK(contains(message_of([&] { table.append({}); }), "at least one column"));
    CHECK(contains(message_of([&] { table.append({{"a,b", 1}}); }), "the column name \"a,b\""));
    CHECK(contains(message_of([&] { table.append({{"", 1}}); }), "is empty or"));
    CHECK(table.rows() == 1);
    CHECK(slurp(path) == "update,loss\n1,0.5\n");

    spit(path, "update,loss\n1,0.5\nx,1\n");
    CHECK(message_of([&] { (void)metrics_table::resume(path, 9); }) ==
          path.string() + ", line 3: \"x\" is not a number");
    CHECK(slurp(path) == "update,loss\n1,0.5\nx,1\n");
    CHECK(contains(message_of([&] { (void)read_csv(path); }), "line 3: \"x\" is not a number"));
    spit(path, "update,loss\n1\n");
    CHECK(contains(message_of([&] { (void)read_csv(path); }), "line 2: 1 cells, but the header has 2"));
    spit(path, "update,loss\n1,\n");
    CHECK(contains(message_of([&] { (void)read_csv(path); }), "line 2: \"\" is not a number"));
    CHECK(contains(message_of([&] { metrics_table(folder / "none" / "x"); }),
                   (folder / "none" / "x").string() + ": No such file or directory"));
}

TEST_CASE("what a table holds is known again by its rows and their checksum") {
    scratch_folder const folder;
    auto const path = folder / "metrics.csv";
    CHECK(measure_csv(path, 9).fingerprint() == "0 rows, checksum 00000000");
    CHECK(folder.files() == 0);
    write_rows(path, 4);
    std::string const text = "update,loss\n1,0.5\n2,1\n3,1.5\n";
    std::string const three = fmt::format("3 rows, checksum {:08x}", crc32c_by_bits(text));
    CHECK(measure_csv(path, 3).fingerprint() == three);
    CHECK(measure_csv(path, 3).size == text.size());
    CHECK(metrics_table::resume(path, 3).extent().fingerprint() == three);
    {
        auto table = metrics_table::resume(path, 2);
        table.append(row(3, 1.5));
        CHECK(table.extent().fingerprint() == three);
    }
    spit(path, "update,loss\n1,0.5\n3,1.5\n");
    CHECK(measure_csv(path, 3).rows == 2);
    spit(path, "update,loss\n1,0.5\n2,7\n3,1.5\n");
    CHECK(measure_csv(path, 3).rows == 3);
    CHECK(measure_csv(path, 3).fingerprint() != three);
}

TEST_CASE("a table that no row can follow is refused and left as it is") {
    scratch_folder const folder;
    auto const path = folder / "metrics.csv";
    std::string const dos = "update,loss\r\n1,0.5\r\n2,1\r\n";
    spit(path, dos);
    for (auto const& message :
         {message_of([&] { (void)measure_csv(path, 1); }), message_of([&] { (void)metrics_table::resume(path, 1); })})
        CHECK(contains(message, path.string() + ", line 1: it ends with a carriage return"));
    CHECK(slurp(path) == dos);
    CHECK(contains(message_of([&] { metrics_table::require_columns({.header = "update,reward"}, row(1, 1), path); }),
                   "the row has the columns update,loss, but the file has update,reward"));
    CHECK(message_of([&] { metrics_table::require_columns({}, row(1, 1), path); }).empty());

    auto const pipe = folder / "pipe.csv";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK(contains(message_of([&] { metrics_table table(pipe); }), pipe.string()));
    CHECK(contains(message_of([&] { (void)metrics_table::resume(pipe, 1); }), "not a regular file"));
}

TEST_CASE("a row that does not fit on the disk leaves no half of itself") {
    scratch_folder const folder;
    auto const path = folder / "metrics.csv";
    pid_t const child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        ::signal(SIGXFSZ, SIG_IGN);
        rlimit const limit{30, 30};
        ::setrlimit(RLIMIT_FSIZE, &limit);
        metrics_table table(path);
        table.append(row(1, 0.5));
        table.append(row(2, 0.5));
        auto const message = message_of([&] { table.append(row(3, 0.123456789)); });
        ::_exit(contains(message, "cannot write " + path.string() + ": File too large") ? 0 : 1);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(slurp(path) == "update,loss\n1,0.5\n2,0.5\n");
}
